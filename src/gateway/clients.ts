// Who a request comes from: the peer of its connection, or the client that a trusted proxy names.
import type { FastifyInstance } from 'fastify'
import type { FindClient } from '../net/client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The address of the client; empty once it has hung up. */
    readonly client: string
  }
}

/** Gives every request its client. */
export function nameClients(app: FastifyInstance, findClient: FindClient): void {
  app.decorateRequest('client', {
    getter() {
      const forwarded = this.headers['x-forwarded-for']
      // Node joins what is sent more than once.
      return findClient(this.raw.socket.remoteAddress ?? '', typeof forwarded === 'string' ? forwarded : null)
    },
  })
}
