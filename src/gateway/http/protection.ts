// Headers of every answer: no type guessing, no scripts or frames, no caching, no referrer.
import { type IncomingMessage, ServerResponse } from 'node:http'
import { forbidRetry, isOpenaiPath } from '../openai-paths.ts'

/** The headers that every answer has unless a route says otherwise. The policy is for JSON that a browser opens as a page. */
export const alwaysSent: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
}

/** How long a client may leave a connection idle. The answers say so; connections.ts closes it a second later. */
export const keepAliveMs = 72_000

const headers = new Map(Object.entries(alwaysSent))

/** An answer with these headers. */
export class ProtectedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  constructor(...args: ConstructorParameters<typeof ServerResponse<Request>>) {
    super(...args)
    this.setHeaders(headers)
    if (isOpenaiPath(this.req.url)) this.setHeader(...forbidRetry)
  }
}
