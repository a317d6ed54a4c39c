// A request has exactly one Host header (RFC 9112, section 3.2). With two, a proxy and a server may use different ones.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { MediagenError } from '../../core/errors.ts'

/** Returns what is wrong with the Host of a request, if anything, and closes the connection after the answer. */
export function findHostProblem({ raw }: FastifyRequest, reply: FastifyReply): MediagenError | undefined {
  const hosts = countHosts(raw.rawHeaders)
  if (hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0')) return undefined
  reply.header('connection', 'close')
  return new MediagenError(
    'invalid_request',
    hosts === 0 ? 'The request has no Host header.' : 'The request has more than one Host header.',
  )
}

function countHosts(headers: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts
}
