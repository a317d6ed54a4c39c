// Server-sent events (HTML Living Standard, section 9.2): one `job` event per change of a watched job.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { JobSchema, type WatchJobResponse } from '../../gen/mediagen/v1/generation_pb.ts'
import { toRecord } from './records.ts'

// Proxies close silent connections.
const heartbeatMs = 15_000
// The reconnection delay for clients.
const retryMs = 2000

/**
 * Sends the changes as they happen; ends after the terminal one.
 * A stream that fails, because its key no longer works for example, ends with an event `error`, whose data is the problem.
 * Nothing is sent before the first change, so that a refusal can be a problem with its own status. If there is no change, the
 * client has seen the end: the answer is 204, after which an `EventSource` does not connect again.
 */
export async function streamJob(
  reply: FastifyReply,
  changes: AsyncIterable<WatchJobResponse>,
  stopping: AbortSignal,
  explain: (error: unknown) => object,
): Promise<FastifyReply> {
  const iterator = changes[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) return reply.code(204).send()
  const events = Readable.from(toEvents(first, iterator, stopping, explain))
  events.once('close', () => {
    leave(iterator).catch(() => {})
  })
  return sendEvents(reply, events)
}

/** Sends events as they come, and comments that keep the connection open. */
export function sendEvents(reply: FastifyReply, events: Readable): FastifyReply {
  const heartbeat = setInterval(() => {
    if (reply.raw.headersSent && !reply.raw.writableEnded) reply.raw.write(': still here\n\n')
  }, heartbeatMs)
  events.once('close', () => clearInterval(heartbeat))
  events.once('error', () => reply.raw.end())
  return nameStream(reply).send(events)
}

/** The head of a stream. Proxies must pass each event on as it comes: none may compress it, which holds events back. */
export function nameStream(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-type', 'text/event-stream')
    .header('cache-control', 'no-store, no-transform')
    .header('x-accel-buffering', 'no')
}

/**
 * Releases an abandoned watch. Connect's iterators have no `return`; after the abort they end when read once more.
 */
export async function leave(changes: AsyncIterator<unknown>): Promise<void> {
  while (!(await changes.next()).done);
}

async function* toEvents(
  first: IteratorResult<WatchJobResponse>,
  rest: AsyncIterator<WatchJobResponse>,
  stopping: AbortSignal,
  explain: (error: unknown) => object,
): AsyncGenerator<string> {
  yield `retry: ${retryMs}\n\n`
  try {
    for (let next = first; !next.done; next = await rest.next()) {
      const { job, sequence } = next.value
      yield `id: ${sequence}\nevent: job\ndata: ${JSON.stringify(toRecord(JobSchema, job))}\n\n`
    }
  } catch (error) {
    // A stopping server ends the stream in an orderly way.
    if (!stopping.aborted) yield `event: error\ndata: ${JSON.stringify(explain(error))}\n\n`
  }
}
