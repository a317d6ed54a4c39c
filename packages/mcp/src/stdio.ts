// The tools on standard input and output, for a client on this machine that starts this program.
import type { MediagenClient } from '@mediagen/client/client.ts'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createToolServer, createTools } from './tools.ts'

const waitSeconds = 180

/**
 * Serves until the client closes its end.
 * @param report told what went wrong; standard output is the client's
 */
export function serveMcp(client: MediagenClient, maxCredits: number, report: (error: unknown) => void) {
  const tools = createTools(waitSeconds)
  const parts = { client, maxCredits, pausesMs: [500, 1500], report }
  serveStdio(() => createToolServer(tools, parts), { onerror: (error) => report(`mediagen: ${error.message}`) })
}
