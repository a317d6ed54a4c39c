// HTTP requests in batches.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createBatches } from '../batches.ts'

/** Handles requests in batches. A request that broke off while it waited is not handled. */
export function handleInBatches(handle: RequestListener): RequestListener {
  const add = createBatches<readonly [IncomingMessage, ServerResponse]>(([request, response]) => {
    if (!request.destroyed) handle(request, response)
  })
  return (request, response) => add([request, response])
}
