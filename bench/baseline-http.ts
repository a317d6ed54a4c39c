// Baseline: bare Fastify that parses what it is sent and answers with what it was started with. Run by http benchmarks.
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'

/** What the baseline answers, from the JSON file that its one argument names. */
export interface BaselineRoute {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly status: number
  /** Serialized anew for every request; the bytes of a text are sent as they are, as JSON. */
  readonly answer: unknown
}

const { method, path, status, answer } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as BaselineRoute
const bytes = typeof answer === 'string' ? Buffer.from(answer) : null
const app = Fastify()
app.route({
  method,
  url: path,
  handler: async (_request, reply) => {
    reply.code(status)
    if (bytes) reply.type('application/json; charset=utf-8')
    return bytes ?? answer
  },
})
const httpUrl = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ http_url: httpUrl })}\n`)
process.once('SIGTERM', () => process.exit(0))
