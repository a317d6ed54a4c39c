// The client of a request: the peer of its connection, or the client that a trusted proxy names.
import type { FastifyInstance } from 'fastify'
import type { FindClient } from '../../guards/client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The address of the client; empty once it has hung up. */
    readonly client: string
  }
}

/** Adds the client to every request. */
export function nameClients(app: FastifyInstance, findClient: FindClient): void {
  app.decorateRequest('client', {
    getter() {
      const forwarded = this.headers['x-forwarded-for']
      // Node joins repeated headers.
      return findClient(this.raw.socket.remoteAddress ?? '', typeof forwarded === 'string' ? forwarded : null)
    },
  })
}
