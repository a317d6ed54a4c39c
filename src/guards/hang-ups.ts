// Clients that hang up: what waits for them ends.
import type { FastifyReply } from 'fastify'

// A signal searches all of its listeners when one is added or removed, and thousands may wait: it has one for all of them.
const waits = new WeakMap<AbortSignal, Set<() => void>>()

function findWaits(stopping: AbortSignal): Set<() => void> {
  const found = waits.get(stopping)
  if (found) return found
  const ends = new Set<() => void>()
  waits.set(stopping, ends)
  stopping.addEventListener('abort', () => {
    for (const end of ends) end()
  })
  return ends
}

/** Aborts when the client hangs up or the server stops: that ends the wait, not the job. */
export function patienceOf(reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  const over = new AbortController()
  const end = (): void => over.abort()
  const ends = findWaits(stopping).add(end)
  whenClosed(reply, () => {
    ends.delete(end)
    if (!reply.raw.writableEnded) end()
  })
  if (stopping.aborted) end()
  return over.signal
}

/** Runs `end` when the answer is over or the client has hung up; at once if it has already, while its key was looked up perhaps. */
export function whenClosed({ raw }: FastifyReply, end: () => void): void {
  if (raw.destroyed) end()
  else raw.once('close', end)
}
