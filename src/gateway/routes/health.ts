// Liveness, readiness and metrics, for operators.
import type { FastifyInstance } from 'fastify'
import { json } from '../openapi/document.ts'

/** The health of the server. */
export interface Health {
  /** Null if requests can be served, else the reason. */
  readonly unready: () => Promise<string | null>
  /** Null where they are not served. */
  readonly metrics: (() => Promise<{ contentType: string; body: string }>) | null
}

const usuallyKeptMs = 1000

/** Turns a check into `unready`, cached for a second or `keptMs`. */
export function createReadiness(check: () => Promise<string | null>, keptMs = usuallyKeptMs): Health['unready'] {
  let checkedAt = Number.NEGATIVE_INFINITY
  let answer: Promise<string | null> = Promise.resolve(null)
  return () => {
    const now = performance.now()
    if (now - checkedAt < keptMs) return answer
    checkedAt = now
    return (answer = check())
  }
}

const string = { type: 'string' }
const healthOperation = {
  id: 'getHealth',
  summary: 'Check whether the process is alive.',
  answers: {
    200: {
      description: 'It is.',
      content: json({ type: 'object', required: ['status'], properties: { status: string } }),
    },
  },
}
const readinessOperation = {
  id: 'getReadiness',
  summary: 'Check whether the server can serve requests.',
  answers: {
    200: { description: 'It can.', content: healthOperation.answers[200].content },
    503: {
      description: 'It cannot; `reason` says why.',
      content: json({ type: 'object', required: ['status', 'reason'], properties: { status: string, reason: string } }),
    },
  },
}
const metricsOperation = {
  id: 'getMetrics',
  summary: 'Read the metrics. They are in the Prometheus text format.',
  answers: { 200: { description: 'The counters.', content: { 'text/plain': { schema: string } } } },
}

/** Adds the routes. */
export function addHealthRoutes(app: FastifyInstance, health: Health): void {
  app.get('/healthz', { schema: { operation: healthOperation } }, () => ({ status: 'ok' }))
  app.get('/readyz', { schema: { operation: readinessOperation } }, async (_request, reply) => {
    const reason = await health.unready()
    if (reason === null) return { status: 'ready' }
    return reply
      .code(503)
      .header('retry-after', String(usuallyKeptMs / 1000))
      .send({ status: 'not ready', reason })
  })
  const { metrics } = health
  if (metrics === null) return
  app.get('/metrics', { schema: { operation: metricsOperation } }, async (_request, reply) => {
    const { contentType, body } = await metrics()
    return reply.type(contentType).send(body)
  })
}
