// The tools on standard input and output, for a client on this machine that starts this program.
import type { MediagenClient } from '@mediagen/client/client.ts'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createToolServer } from './tools.ts'

const waitSeconds = 180

/** Serves until the client closes its end. Standard output is the client's, so reports go to standard error. */
export function serveMcp(client: MediagenClient, maxCredits: number) {
  const report = (error: unknown): void => console.error(error)
  const parts = { client, maxCredits, waitSeconds, pausesMs: [500, 1500], report }
  serveStdio(() => createToolServer(parts), { onerror: (error) => console.error(`mediagen: ${error.message}`) })
}
