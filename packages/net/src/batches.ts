// Requests that arrive together are handled together. A request runs through more code than the caches of a processor hold. Handled
// as soon as it is read, each fetches all of that code anew; handled in batches, one fetches it for all: the steps of the requests of
// a batch follow one another, because each waits for its promises in the same queue.

/** Maximum number of requests in a batch. It also bounds how long a request waits for others. */
export const mostInBatch = 64

/**
 * Returns a function that handles each item when all sockets that were ready have been read, or when a batch is full: while more
 * sockets are ready than libuv takes from the system at once, it would read for many rounds.
 */
export function createBatches<Item>(handle: (item: Item) => void): (item: Item) => void {
  let batch: Item[] = []
  let isScheduled = false

  function handleBatch(): void {
    const arrived = batch
    batch = []
    for (const item of arrived) handle(item)
  }

  return (item) => {
    if (batch.push(item) === mostInBatch) return handleBatch()
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      handleBatch()
    })
  }
}
