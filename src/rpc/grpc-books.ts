// All calls that are open on the gRPC port, and what they hold: bytes of unfinished requests and of answers that nobody has read.
import type { CallKeeper, GrpcCall } from './grpc-call.ts'

/** How much calls may hold. */
export interface CallBounds {
  /** In so long 64 KiB of a request come, or its end, and as much of an answer is read. */
  readonly stallMs: number
  /** Bytes of unfinished requests and of answers that were not read: of one connection, and of all. */
  readonly maxConnectionBytes: number
  readonly maxBytes: number
}

/** The books of one port. */
export interface CallBooks extends CallKeeper {
  add(call: GrpcCall): void
  /** Ends calls that stall. */
  sweep(): void
}

/**
 * Creates the books.
 * @param sweepMs how often they are swept
 * @param clockMs a clock that does not go back
 */
export function createCallBooks(
  bounds: CallBounds,
  sweepMs: number,
  clockMs: () => number,
  told: Pick<CallKeeper, 'noteCall' | 'noteUnread'>,
): CallBooks {
  // In the order in which they began.
  const calls = new Set<GrpcCall>()
  const { stallMs, maxConnectionBytes, maxBytes } = bounds
  let sweptAtMs = clockMs()
  let heldBytes = 0

  function count(call: GrpcCall, bytes: number): void {
    call.heldBytes += bytes
    call.connection.heldBytes += bytes
    heldBytes += bytes
  }

  /** What is whole and read at once holds nothing for long: what began first is slow, or means to be. */
  function makeRoom(connection: GrpcCall['connection']): void {
    for (const call of calls) {
      const isFull = heldBytes > maxBytes
      if (!isFull && connection.heldBytes <= maxConnectionBytes) return
      if (call.heldBytes > 0 && (isFull || call.connection === connection)) call.giveUp()
    }
  }

  return {
    ...told,
    stallMs,
    get latestMs() {
      return sweptAtMs + sweepMs
    },
    add(call) {
      calls.add(call)
      call.connection.calls += 1
    },
    hold(call, bytes) {
      count(call, bytes)
      if (bytes > 0 && (heldBytes > maxBytes || call.connection.heldBytes > maxConnectionBytes))
        makeRoom(call.connection)
    },
    forget(call) {
      calls.delete(call)
      call.connection.calls -= 1
      count(call, -call.heldBytes)
    },
    sweep() {
      sweptAtMs = clockMs()
      for (const call of calls) call.sweep(sweptAtMs)
    },
  }
}
