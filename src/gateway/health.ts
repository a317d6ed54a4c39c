// Liveness, readiness and metrics, for operators.
import type { FastifyInstance } from 'fastify'

/** The health of the server. */
export interface Health {
  /** Null if requests can be served, else why not. */
  readonly unready: () => Promise<string | null>
  /** Null where they are not served. */
  readonly metrics: (() => Promise<{ contentType: string; body: string }>) | null
}

const keptMs = 1000

/** Turns a check into `unready`, cached for a second. */
export function createReadiness(check: () => Promise<string | null>): Health['unready'] {
  let askedAt = Number.NEGATIVE_INFINITY
  let answer: Promise<string | null> = Promise.resolve(null)
  return () => {
    const now = performance.now()
    if (now - askedAt < keptMs) return answer
    askedAt = now
    return (answer = check())
  }
}

/** Adds the routes. */
export function addHealthRoutes(app: FastifyInstance, health: Health): void {
  app.get('/healthz', () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const reason = await health.unready()
    return reason === null ? { status: 'ready' } : reply.code(503).send({ status: 'not ready', reason })
  })
  const { metrics } = health
  if (metrics === null) return
  app.get('/metrics', async (_request, reply) => {
    const { contentType, body } = await metrics()
    return reply.type(contentType).send(body)
  })
}
