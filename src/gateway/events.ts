// Server-sent events (HTML Living Standard, section 9.2): one `job` event per change of a watched job.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { WatchJobResponse } from '../../gen/mediagen/v1/generation_pb.ts'
import { toJobRecord } from './records.ts'

// Proxies close connections on which nothing is said.
const heartbeatMs = 15_000
// What a client is told to wait before it connects again.
const retryMs = 2000

/**
 * Answers with the changes as they come; ends after the terminal one.
 * The first change is awaited before anything is sent, so that a refusal is still a problem with its own status.
 */
export async function streamJob(
  reply: FastifyReply,
  changes: AsyncIterable<WatchJobResponse>,
  stopping: AbortSignal,
): Promise<FastifyReply> {
  const iterator = changes[Symbol.asyncIterator]()
  const first = await iterator.next()
  const events = Readable.from(toEvents(first, iterator, stopping))
  const heartbeat = setInterval(() => {
    if (reply.raw.headersSent && !reply.raw.writableEnded) reply.raw.write(': still here\n\n')
  }, heartbeatMs)
  events.once('close', () => {
    clearInterval(heartbeat)
    leave(iterator).catch(() => {})
  })
  // A core that stops ends the stream; the client comes back by itself.
  events.once('error', () => reply.raw.end())
  return reply
    .header('content-type', 'text/event-stream')
    .header('cache-control', 'no-store')
    .header('x-accel-buffering', 'no')
    .send(events)
}

/**
 * Lets go of a watch that nobody reads any more. Connect's iterators have no `return`: what the hang-up aborted ends when
 * it is asked once more.
 */
async function leave(changes: AsyncIterator<WatchJobResponse>): Promise<void> {
  while (!(await changes.next()).done);
}

async function* toEvents(
  first: IteratorResult<WatchJobResponse>,
  rest: AsyncIterator<WatchJobResponse>,
  stopping: AbortSignal,
): AsyncGenerator<string> {
  yield `retry: ${retryMs}\n\n`
  try {
    for (let next = first; !next.done; next = await rest.next()) {
      const { job, sequence } = next.value
      yield `id: ${sequence}\nevent: job\ndata: ${JSON.stringify(toJobRecord(job))}\n\n`
    }
  } catch (error) {
    // A server that stops ends the stream in order.
    if (!stopping.aborted) throw error
  }
}
