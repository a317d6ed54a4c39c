// Headers of every answer: its request id, how long its connection stays open, no type guessing, no scripts or frames, no caching,
// no referrer.
import type { IncomingMessage, ServerResponse as Response } from 'node:http'
import { ServerResponse } from './node-http.ts'

// For JSON that a browser opens as a page: it loads nothing and cannot be framed.
const policy = "content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n"
const uncached = 'cache-control: no-store\r\n'
const always = 'x-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\n'

/** How long a client may leave a connection idle. The answers say so; connections.ts closes it a second later. */
export const keepAliveMs = 72_000
const keepAlive = `keep-alive: timeout=${keepAliveMs / 1000}\r\n`

/** The lines that every answer has unless a route says otherwise. */
export const alwaysSent: string = always + policy + uncached

type StoreHeader = (this: Response, firstLine: string, headers: unknown) => void
const { _storeHeader: storeHeader } = ServerResponse.prototype as unknown as { _storeHeader: StoreHeader }

/**
 * An answer with the security headers. A route's own policy or cache control replaces the default. The headers are appended to
 * the first line as constants: setting them one by one, which makes Node validate each, took 4 % of the time of a quote.
 */
export class ProtectedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** The id of the request, of characters that a header may have; null to send none. */
  requestId: string | null = null

  /** Node calls this method to write any head. */
  _storeHeader(firstLine: string, headers: Readonly<Record<string, unknown>> | null | undefined): void {
    let lines = firstLine + always
    if (headers?.['content-security-policy'] === undefined) lines += policy
    if (headers?.['cache-control'] === undefined) lines += uncached
    if (this.requestId !== null && headers?.['x-request-id'] === undefined)
      lines += `x-request-id: ${this.requestId}\r\n`
    if (this.shouldKeepAlive && headers?.['connection'] === undefined) lines += keepAlive
    storeHeader.call(this, lines, headers)
  }
}
