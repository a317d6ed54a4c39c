// A server of the protocol, for one connection or one request.
import { ProtocolError, ProtocolErrorCode, type ProtocolEra, Server } from '@modelcontextprotocol/server'
import manifest from '../../package.json' with { type: 'json' }
import { abridgeText } from './errors.ts'
import { addTaskMethods, tasksCapability } from './tasks.ts'
import type { ToolDeps, Tools } from './tool.ts'

const instructions = `mediagen makes pictures, films, speech and music, and says the price in credits before it starts.
Work in this order: find_models, describe_model (for the schema of the input), quote, start_generation with max_credits, wait_for_job until the status is neither queued nor running.
Only success is charged. If a call of start_generation fails or times out, repeat it with the same idempotency_key and the same input: it never pays twice.
Outputs are resource links whose URLs expire. The URL of an output is also a valid input wherever a schema says "format": "media"; so is the file_id of upload_file.`

/** Creates a server with the tools; `modern` are the revisions from 2026-07-28 on, which have tasks. */
export function createToolServer(tools: Tools, deps: ToolDeps, era: ProtocolEra): Server {
  const server = new Server(
    { name: 'mediagen', title: 'mediagen', version: manifest.version },
    { instructions, capabilities: { tools: {}, ...(era === 'modern' && tasksCapability) } },
  )
  server.setRequestHandler('tools/list', () => ({ tools: [...tools.values()].map(({ listed }) => listed) }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools.get(params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${abridgeText(params.name)}.`)
    return server.projectCallToolResult(await tool.call(params.arguments ?? {}, deps, context), undefined)
  })
  if (era === 'modern') addTaskMethods(server, deps)
  return server
}
