// The commands that there are.
import type { Command } from 'commander'
import { addAdminCommands, addOldNames, listLeaves } from './admin/group.ts'
import { addDemoCommand } from './demo.ts'
import { addMigrateCommand } from './migrate.ts'
import { addMoveCommand } from './move.ts'
import { addServeCommand } from './serve.ts'
import { addBackupCommands } from './upkeep/backup.ts'
import { addStatusCommands } from './upkeep/status.ts'
import { addCompletionCommand } from './user/completion.ts'
import { addConformanceCommand } from './user/conformance/command.ts'
import { addGenerateCommands } from './user/generate.ts'
import { addUserCommands } from './user/lists.ts'
import { addMcpCommand } from './user/mcp.ts'

/** Adds all commands. */
export function addCommands(program: Command): void {
  program.commandsGroup('Use a server:')
  addGenerateCommands(program)
  addUserCommands(program)
  addMcpCommand(program)
  addConformanceCommand(program)
  program.commandsGroup('Run a server:')
  addDemoCommand(program)
  addServeCommand(program)
  addMigrateCommand(program)
  addMoveCommand(program)
  addBackupCommands(program)
  program.commandsGroup('Operate a server:')
  addStatusCommands(program)
  addAdminCommands(program)
  program.commandsGroup('Other:')
  addCompletionCommand(program)
  program.helpCommand(true)
  addOldNames(program)
  for (const command of listLeaves(program))
    if (!command.options.some(({ long }) => long === '--json')) command.option('--json', 'print JSON')
}
