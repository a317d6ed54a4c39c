// mediagen mcp: a server's tools for an agent that starts this program.
import { inspect } from 'node:util'
import type { Command } from 'commander'
import { parseCount } from './counts.ts'
import { openFile } from './input.ts'
import { say } from './print.ts'
import { withServer } from './server.ts'

/** Says what went wrong; standard output belongs to the protocol. */
const report = (error: unknown): void => say(`${typeof error === 'string' ? error : inspect(error)}\n`, process.stderr)

/** Adds the command. */
export function addMcpCommand(program: Command): void {
  program
    .command('mcp')
    .description('Serve the tools of the Model Context Protocol on standard input and output, for agents')
    .option('--max-credits <credits>', 'start nothing that costs more, whatever the agent allows', parseCount)
    .action(
      withServer(async ({ client }, { maxCredits = Infinity }: { maxCredits?: number }, _command: Command) => {
        const { serveMcp } = await import('../../mcp/stdio.ts')
        serveMcp({ client, maxCredits, openFile, report })
        return undefined
      }),
    )
}
