// The commands that there are.
import type { Command } from 'commander'
import { addAssetCommands } from './assets.ts'
import { addAuditCommands } from './audit.ts'
import { addDemoCommand } from './demo.ts'
import { addJobCommands } from './jobs.ts'
import { addMigrateCommand } from './migrate.ts'
import { addModelCommands } from './models.ts'
import { addMoveCommand } from './move.ts'
import { addOperatorCommands } from './operator.ts'
import { addProviderCommands } from './providers.ts'
import { addServeCommand } from './serve.ts'
import { addBackupCommands } from './upkeep/backup.ts'
import { addStatusCommands } from './upkeep/status.ts'
import { addCompletionCommand } from './user/completion.ts'
import { addConformanceCommand } from './user/conformance/command.ts'
import { addGenerateCommands } from './user/generate.ts'
import { addUserCommands } from './user/lists.ts'
import { addMcpCommand } from './user/mcp.ts'
import { addWebhookCommands } from './webhook-commands.ts'

/** Adds all commands. */
export function addCommands(program: Command): void {
  program.commandsGroup('Use a server:')
  addGenerateCommands(program)
  addUserCommands(program, addModelCommands(program), addJobCommands(program))
  addMcpCommand(program)
  addConformanceCommand(program)
  program.commandsGroup('Run a server:')
  addDemoCommand(program)
  addServeCommand(program)
  addMigrateCommand(program)
  addMoveCommand(program)
  addBackupCommands(program)
  program.commandsGroup('Operate the server of this machine:')
  addStatusCommands(program)
  addOperatorCommands(program)
  addProviderCommands(program)
  addWebhookCommands(program)
  addAssetCommands(program)
  addAuditCommands(program)
  program.commandsGroup('Other:')
  addCompletionCommand(program)
  program.helpCommand(true)
  for (const command of listCommands(program))
    if (!command.options.some(({ long }) => long === '--json')) command.option('--json', 'print JSON')
}

/** The commands that have an action, without those that only group others. */
function listCommands(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(listCommands)
}
