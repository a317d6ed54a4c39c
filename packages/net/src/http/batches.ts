// Requests that arrive together are handled together. A request runs through more code than the caches of a processor hold. Handled
// as soon as it is read, each fetches all of that code anew; handled in batches, one fetches it for all: the steps of the requests of
// a batch follow one another, because each waits for its promises in the same queue.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** Maximum number of requests in a batch. It also bounds how long a request waits for others. */
export const mostInBatch = 64

/**
 * Handles each request when all sockets that were ready have been read, or when a batch is full: while more sockets are ready than
 * libuv takes from the system at once, it would read for many rounds. A request that broke off by then is not handled.
 */
export function handleInBatches(handle: RequestListener): RequestListener {
  let batch: (readonly [IncomingMessage, ServerResponse])[] = []
  let isScheduled = false

  function handleBatch(): void {
    const arrived = batch
    batch = []
    for (const [request, response] of arrived) {
      if (!request.destroyed) handle(request, response)
    }
  }

  return (request, response) => {
    if (batch.push([request, response]) === mostInBatch) return handleBatch()
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      handleBatch()
    })
  }
}
