// Requests that arrive together are handled together. A request runs through more code than the caches of a processor hold: handled
// as soon as it is read, each fetches all of it anew; in a batch, their steps follow one another, because each waits for its promises
// in the same queue. A quote takes half of the processor time, at 64 connections.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

// It also bounds how long a request waits for others.
const mostInBatch = 64

/** Handles requests when all sockets that were ready have been read. A request that broke off while it waited is not handled. */
export function handleInBatches(handle: RequestListener): RequestListener {
  let batch: [IncomingMessage, ServerResponse][] = []
  let isScheduled = false

  function handleBatch(): void {
    isScheduled = false
    const arrived = batch
    batch = []
    for (const [request, response] of arrived) if (!request.destroyed) handle(request, response)
  }

  return (request, response) => {
    // While more sockets are ready than libuv takes from the system at once, it would read for many rounds.
    if (batch.push([request, response]) >= mostInBatch) return handleBatch()
    if (isScheduled) return
    isScheduled = true
    setImmediate(handleBatch)
  }
}
