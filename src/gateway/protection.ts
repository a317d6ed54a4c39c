// Headers that keep browsers and caches from making more of an answer than it is, on every answer of the HTTP port.
import { type IncomingMessage, ServerResponse } from 'node:http'

// What a page may load that loads nothing and is shown in no other: JSON, when a browser opens it.
const policy = "content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n"
const uncached = 'cache-control: no-store\r\n'
const always = 'x-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\n'

type StoreHeader = (this: ServerResponse, firstLine: string, headers: unknown) => void
const { _storeHeader: storeHeader } = ServerResponse.prototype as unknown as { _storeHeader: StoreHeader }

/**
 * An answer that carries the headers; a policy or a caching of its own takes the place of the usual one. They are written
 * behind the first line as they are: Node checks every header that it is given, which for four of them took 4 % of a quote.
 */
export class ProtectedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Node's own, which every way to write a head ends in. */
  _storeHeader(firstLine: string, headers: Readonly<Record<string, unknown>> | null | undefined): void {
    let lines = firstLine + always
    if (headers?.['content-security-policy'] === undefined) lines += policy
    if (headers?.['cache-control'] === undefined) lines += uncached
    storeHeader.call(this, lines, headers)
  }
}
