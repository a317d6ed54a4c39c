// 405 for a method that a route does not allow; Fastify itself answers 404.
import { METHODS } from '@mediagen/net/http/node-http.ts'
import type { FastifyInstance } from 'fastify'
import { MediagenError } from '@mediagen/core/errors.ts'

// All methods that Node parses, except CONNECT, which never becomes a request.
const methods = METHODS.filter((method) => method !== 'CONNECT')

/** Records the routes that are added from now on; `close` then adds the refusals. */
export function watchMethods(app: FastifyInstance): {
  close(): void
  routes(): ReadonlyMap<string, ReadonlySet<string>>
} {
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  const taken = new Map<string, Set<string>>()
  let closed = false
  app.addHook('onRoute', (route) => {
    if (closed) return
    const known = taken.get(route.url) ?? new Set()
    for (const method of [route.method].flat()) known.add(method)
    taken.set(route.url, known)
  })
  return {
    routes: () => taken,
    close() {
      closed = true
      for (const [url, known] of taken) {
        const allowed = [...known].toSorted().join(', ')
        app.route({
          method: methods.filter((method) => !known.has(method)),
          url,
          // Before the body is read, which is not needed.
          onRequest: (request, reply) => {
            reply.header('allow', allowed)
            throw new MediagenError(
              'method_not_allowed',
              `${request.method} is not allowed here; ${allowed} ${known.size === 1 ? 'is' : 'are'}.`,
            )
          },
          handler: () => {},
        })
      }
    },
  }
}
