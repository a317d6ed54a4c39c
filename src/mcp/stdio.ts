// The tools on standard input and output, for a client on this machine that starts this program.
import { type Readable, Transform } from 'node:stream'
import type { MediagenClient } from '@mediagen/client/client.ts'
import { LineReader } from '@mediagen/engine/lines.ts'
import { ProtocolErrorCode, STDIO_DEFAULT_MAX_BUFFER_SIZE } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { MediagenError } from '../core/errors.ts'
import { refuseRepeatedNames } from '../guards/json-names.ts'
import { createToolServer } from './server.ts'
import { createTools } from './tools.ts'
import type { OpenFile } from './uploads.ts'

/** What the program serves with. */
export interface StdioOptions {
  readonly client: MediagenClient
  /** No start costs more, whatever the agent allows. */
  readonly maxCredits: number
  /** Opens a file to upload. */
  readonly openFile: OpenFile
  /** Receives what went wrong; standard output is the client's. */
  readonly report: (error: unknown) => void
}

/** Serves until the client closes its end. */
export function serveMcp({ client, maxCredits, openFile, report }: StdioOptions) {
  const tools = createTools({ openFile })
  const deps = { client, maxCredits, pausesMs: [500, 1500], report }
  const onerror = (error: Error) => report(`mediagen: ${error.message}`)
  const transport = new StdioServerTransport(readMessages(process.stdin, process.stdout, onerror))
  serveStdio(({ era }) => createToolServer(tools, deps, era), { transport, onerror })
}

/** The lines of a client. One that gives a name twice is answered here, because the SDK would take the last value, silently. */
function readMessages(source: Readable, answers: NodeJS.WritableStream, onerror: (error: Error) => void): Readable {
  const lines = new LineReader(
    STDIO_DEFAULT_MAX_BUFFER_SIZE,
    (line) => {
      lines.renew()
      const refusal = findRefusal(line)
      if (refusal === null) checked.push(`${line}\n`)
      else if (refusal.id === undefined) onerror(refusal.error)
      else answers.write(`${JSON.stringify(toAnswer(refusal.id, refusal.error))}\n`)
    },
    () => checked.destroy(new Error(`a message is longer than ${STDIO_DEFAULT_MAX_BUFFER_SIZE} bytes`)),
  )
  const checked = new Transform({
    transform(chunk: Buffer, _, done) {
      lines.write(chunk)
      done()
    },
  })
  source.once('error', (error) => checked.destroy(error))
  // The SDK pauses what it reads when it closes; then nothing else may keep this program running.
  checked.once('pause', () => source.unpipe(checked))
  return source.pipe(checked)
}

type Id = string | number | null

/** Why a message is refused: its id is null if nobody can tell it, and undefined for a notification, which has no answer. */
function findRefusal(line: string): { readonly id: Id | undefined; readonly error: MediagenError } | null {
  let message: unknown
  try {
    message = JSON.parse(line)
  } catch {
    // The SDK handles lines that are not JSON.
    return null
  }
  try {
    refuseRepeatedNames(line)
    return null
  } catch (error) {
    if (!(error instanceof MediagenError)) throw error
    return { id: readId(message, error), error }
  }
}

function readId(message: unknown, { details: { violations = [] } }: MediagenError): Id | undefined {
  if (violations.some(({ pointer }) => pointer === '/id')) return null
  const { id } = Object(message) as { readonly id?: unknown }
  if (typeof id === 'string' || typeof id === 'number') return id
  return id === undefined && !Array.isArray(message) ? undefined : null
}

function toAnswer(id: Id, { message }: MediagenError) {
  return { jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InvalidRequest, message } }
}
