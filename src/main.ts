// The command line. Every command is a few lines in src/cli.
import { Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { StartupError, withoutCode } from './core/errors.ts'
import { escapeHidden } from './core/text/hidden-characters.ts'

/**
 * Creates the command line.
 * @param command the one that will run: a server does not load the others
 */
export async function createProgram(command?: string): Promise<Command> {
  const program = new Command('mediagen')
    .description('Make pictures, films, speech and music, or run the server that makes them')
    .version(manifest.version, '--version', 'print the version')
    .showHelpAfterError('(use --help for usage)')
    // What stands after a subcommand is an option of that.
    .enablePositionalOptions()
  if (command === 'serve') (await import('./cli/serve.ts')).addServeCommand(program)
  else (await import('./cli/commands.ts')).addCommands(program)
  return program
}

/** Runs one command; a refusal is one sentence on standard error and exit status 1. */
export async function main(argv: readonly string[]): Promise<void> {
  // A reader of the output may close the pipe early. A server goes on without its output, as without its log.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && argv[2] !== 'serve') throw error
  })
  // Nothing could say that this cannot be said.
  process.stderr.on('error', () => {})
  // Files are readable by this user only, because the database has the keys that seal quotes. Folders let others pass, who
  // cannot list them: forked processes run as another user and have their folders below.
  process.umask(0o066)
  try {
    const program = await createProgram(argv[2])
    if (argv.length > 2) await program.parseAsync(argv)
    else program.outputHelp()
  } catch (error) {
    const { ConnectError } = await import('@connectrpc/connect')
    if (!(error instanceof StartupError) && !(error instanceof ConnectError)) throw error
    const { say } = await import('./cli/user/print.ts')
    const words = error instanceof ConnectError ? escapeHidden(withoutCode(error.rawMessage)) : error.message
    say(`mediagen: ${words}\n`, process.stderr)
    process.exitCode = 1
  }
}
