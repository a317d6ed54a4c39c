// GET /openapi.json: the OpenAPI document of the REST interface, from the schemas of the routes themselves.
import type { FastifyInstance } from 'fastify'
import { type ErrorCode, retryable } from '../../core/errors.ts'
import { compressLarge } from '../compress.ts'
import { problemKinds } from '../problems/problem-kinds.ts'
import { problemSchema } from '../schemas/schemas.ts'
import { deliverySchema } from '../schemas/webhook-schemas.ts'
import { createDocument, json, type Operation, type Route } from './document.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** What the document says about a route. Routes without it are not part of the interface. */
    operation?: Operation<ErrorCode>
  }
}

const operation: Operation<ErrorCode> = {
  id: 'getOpenapi',
  summary:
    'Read the OpenAPI document. It describes the whole REST interface; GET /v1/models/{model} has one of each model.',
  answers: { 200: { description: 'The document.', content: json({ type: 'object' }) } },
}

const problems = Object.fromEntries(
  Object.entries(problemKinds).map(([code, kind]) => [code, { ...kind, retryable: retryable[code as ErrorCode] }]),
)

/** Collects the operations of all routes that are added from here on; call what it returns to add the route. */
export function collectOperations(app: FastifyInstance, publicUrl: () => string): () => void {
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    const { operation, body, response } = schema ?? {}
    // Fastify adds HEAD to every GET.
    if (!operation || typeof method !== 'string' || method === 'HEAD') return
    routes.push({
      method,
      url,
      operation,
      body,
      response: (response ?? {}) as Readonly<Record<string, unknown>>,
      permission: config?.permission,
    })
  })
  return () => {
    // Created once: anyone may request it without a key, and all pending answers share the same bytes.
    let document: Buffer | undefined
    app.get('/openapi.json', { onSend: compressLarge, schema: { operation } }, (_request, reply) => {
      const deps = { url: publicUrl(), problems, problemSchema, events: deliverySchema.properties.type.enum }
      document ??= Buffer.from(JSON.stringify(createDocument(routes, deps)))
      return reply.type('application/json; charset=utf-8').send(document)
    })
  }
}
