// Streamable HTTP without sessions: each request has a server of its own, and nothing is kept between two of them.
import { type Connection, createClient } from '@mediagen/client/client.ts'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { createToolServer } from './server.ts'
import type { ToolDeps } from './tool.ts'
import { createTools } from './tools.ts'

/** What is the same for all requests. */
export interface McpOptions extends Pick<ToolDeps, 'report'> {
  /** How long wait_for_job may wait at most; it takes no more than 50 seconds. */
  readonly waitSeconds: number
}

/** Whose request it is. */
export interface McpCaller {
  readonly connection: Connection
  /** Aborts when the caller has hung up or the server stops. */
  readonly signal: AbortSignal
}

/** Answers a request, whose body is parsed already. */
export type AnswerMcp = (request: Request, body: unknown, caller: McpCaller) => Promise<Response>

/** Creates the endpoint, for clients of all revisions of the protocol that the SDK knows. */
export function createMcp({ waitSeconds, report }: McpOptions): AnswerMcp {
  const tools = createTools({ waitSeconds })
  const { fetch } = createMcpHandler(
    ({ authInfo, era }) => {
      const { connection, signal } = (authInfo as unknown as { extra: McpCaller }).extra
      const deps: ToolDeps = {
        report,
        client: createClient(connection),
        signal,
        maxCredits: Number.POSITIVE_INFINITY,
        // What the routes of this server refuse, they refuse again a second later.
        pausesMs: [],
      }
      return createToolServer(tools, deps, era)
    },
    // The list of tools never changes: there is nothing to subscribe to.
    { onerror: () => {}, maxSubscriptions: 0 },
  )
  return (request, parsedBody, caller) =>
    fetch(request, { parsedBody, authInfo: { token: '', clientId: '', scopes: [], extra: { ...caller } } })
}
