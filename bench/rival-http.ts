// The door of the rivals: one Fastify route with a schema and a key, and a count of jobs that have not ended.
import { createHash } from 'node:crypto'
import Fastify from 'fastify'
import type { RivalJob, RivalOrder } from './rival-ledger.ts'

/** The one account of a rival; its key is the same word. */
export const rivalAccount = 'acct_bench'

/** What a rival does with a start. */
export interface Rival {
  start(order: RivalOrder): Promise<RivalJob> | RivalJob
  close(): Promise<void>
}

const text = { type: 'string', minLength: 1 }
const route = {
  schema: {
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['model', 'input', 'quote_id'],
      properties: {
        model: text,
        quote_id: text,
        input: {
          type: 'object',
          additionalProperties: false,
          required: ['prompt'],
          properties: { prompt: { ...text, maxLength: 2000 } },
        },
      },
    },
    response: {
      202: {
        type: 'object',
        properties: {
          job_id: text,
          status: text,
          model: text,
          quote_id: text,
          credits: { type: 'integer' },
          created_at: text,
        },
      },
    },
  },
}

/** Serves a rival until SIGTERM; tells its address on standard output. */
export async function serveRival(rival: Rival, countOpen: () => number): Promise<void> {
  const app = Fastify()
  const accounts = new Map([[hash(rivalAccount), rivalAccount]])
  app.post<{ Body: { model: string; input: object; quote_id: string } }>(
    '/v1/generate',
    route,
    async (request, reply) => {
      const { authorization = '', 'idempotency-key': idempotencyKey } = request.headers
      const accountId = accounts.get(hash(authorization.replace(/^Bearer /, '')))
      if (accountId === undefined) return reply.code(401).send()
      if (typeof idempotencyKey !== 'string') return reply.code(400).send()
      const { model, input, quote_id: quoteId } = request.body
      const job = await rival.start({ accountId, idempotencyKey, model, input, quoteId, credits: 2 })
      return reply.code(202).send(job)
    },
  )
  app.get('/open', () => ({ open: countOpen() }))
  process.once('SIGTERM', () => {
    void app
      .close()
      .then(() => rival.close())
      .then(() => process.exit(0))
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  process.stdout.write(`${JSON.stringify({ http_url: url })}\n`)
}

function hash(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}
