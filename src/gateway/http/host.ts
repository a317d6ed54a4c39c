// A request has exactly one Host header, with a host and perhaps a port (RFC 9112, section 3.2). With two, a proxy and a server may
// use different ones; and addresses in answers begin with it.
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { MediagenError } from '../../core/errors.ts'

// Names and addresses, as they are written in a URL.
const form = /^(?:[\w.~%-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/** Returns what is wrong with the Host of a request, if anything, and closes the connection after the answer. */
export function findHostProblem({ raw }: FastifyRequest, reply: FastifyReply): MediagenError | undefined {
  const problem = describeProblem(raw)
  if (problem === null) return undefined
  reply.header('connection', 'close')
  return new MediagenError('invalid_request', problem)
}

function describeProblem({ rawHeaders, headers: { host }, httpVersion }: IncomingMessage): string | null {
  if (host === undefined) return httpVersion === '1.0' ? null : 'The request has no Host header.'
  if (countHosts(rawHeaders) > 1) return 'The request has more than one Host header.'
  return isHost(host) ? null : 'The Host header must be a host, perhaps with a port, such as media.example:8080.'
}

// Every request of a client has the same one.
let lastGood = ''

function isHost(host: string): boolean {
  if (host === lastGood) return true
  if (!form.test(host) || !URL.canParse(`http://${host}`)) return false
  lastGood = host
  return true
}

function countHosts(headers: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts
}
