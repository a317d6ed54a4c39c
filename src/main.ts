// The command line. Every command is a few lines in src/cli.
import { ConnectError } from '@connectrpc/connect'
import { Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { addAssetCommands } from './cli/assets.ts'
import { addAuditCommands } from './cli/audit.ts'
import { addCompletionCommand } from '@mediagen/terminal/completion.ts'
import { addDemoCommand } from './cli/demo.ts'
import { addJobCommands } from './cli/jobs.ts'
import { addMigrateCommand } from './cli/migrate.ts'
import { addMoveCommand } from './cli/move.ts'
import { addModelCommands } from './cli/models.ts'
import { addOperatorCommands } from './cli/operator.ts'
import { addProviderCommands } from './cli/providers.ts'
import { addServeCommand } from './cli/serve.ts'
import { addGenerateCommands } from '@mediagen/terminal/generate.ts'
import { addUserCommands } from '@mediagen/terminal/lists.ts'
import { addMcpCommand } from '@mediagen/terminal/mcp.ts'
import { addWebhookCommands } from './cli/webhook-commands.ts'
import { StartupError, withoutCode } from '@mediagen/core/errors.ts'

/** Creates the command line with all its commands. */
export function createProgram(): Command {
  const program = new Command('mediagen')
    .description('Make pictures, films, speech and music, or run the server that makes them')
    .version(manifest.version, '--version', 'print the version')
    .showHelpAfterError('(use --help for usage)')
    // What stands after a subcommand is an option of that.
    .enablePositionalOptions()
  program.commandsGroup('Use a server:')
  addGenerateCommands(program)
  addUserCommands(program, addModelCommands(program), addJobCommands(program))
  addMcpCommand(program)
  program.commandsGroup('Run a server:')
  addDemoCommand(program)
  addServeCommand(program)
  addMigrateCommand(program)
  addMoveCommand(program)
  program.commandsGroup('Operate the server of this machine:')
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
  return program
}

/** The commands that have an action, without those that only group others. */
function listCommands(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(listCommands)
}

/** Runs one command; a refusal is one sentence on standard error and exit status 1. */
export async function main(argv: readonly string[]): Promise<void> {
  // A reader of the output may close the pipe early.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  // Files are readable by this user only, because the database has the keys that seal quotes. Folders let others pass, who
  // cannot list them: forked processes run as another user and have their folders below.
  process.umask(0o066)
  try {
    await createProgram().parseAsync(argv)
  } catch (error) {
    if (!(error instanceof StartupError) && !(error instanceof ConnectError)) throw error
    process.stderr.write(`mediagen: ${error instanceof ConnectError ? withoutCode(error.rawMessage) : error.message}\n`)
    process.exitCode = 1
  }
}
