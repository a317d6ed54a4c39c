// Headers that keep browsers from making more of an answer than it is.
import type { FastifyReply } from 'fastify'

/** What a page may load that loads nothing and is shown in no other: JSON, when a browser opens it. */
const nothing = "default-src 'none'; frame-ancestors 'none'"

/** Sets the headers of every answer; a route may set others. */
export function protect(reply: FastifyReply): void {
  reply
    .header('x-content-type-options', 'nosniff')
    .header('content-security-policy', nothing)
    .header('referrer-policy', 'no-referrer')
}
