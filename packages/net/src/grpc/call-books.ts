// All calls that are open on the gRPC port, and what they hold: bytes of unfinished requests and of answers that nobody has read.
import type { StatusObject } from '@grpc/grpc-js'
import type { CallHead } from '../service.ts'
import type { Connection } from './sessions.ts'

/** A call as the books see it. */
export interface HeldCall {
  readonly connection: Connection
  readonly route: { readonly rpc: string }
  readonly head: CallHead
  readonly beganAtMs: number
  /** Bytes of an unfinished request and of answers that were not read. */
  heldBytes: number
  /** Ends the call when its client takes or sends nothing for too long. */
  sweep(nowMs: number): void
  /** Lets go of what the call holds, for others that hold less. */
  giveUp(): void
}

/** How much calls may hold. */
export interface CallBounds {
  /** In so long 64 KiB of a request come, or its end, and as much of an answer is read. */
  readonly stallMs: number
  /** Bytes of unfinished requests and of answers that were not read: of one connection, and of all. */
  readonly maxConnectionBytes: number
  readonly maxBytes: number
}

/** What calls share: the bounds of their port, and its books. */
export interface CallKeeper {
  readonly stallMs: number
  /** No earlier than now, and no later than the next sweep, on a clock that does not go back: looking at a clock costs time. */
  readonly latestMs: number
  /** Tells by how many bytes more, or fewer, a call holds. */
  hold(call: HeldCall, bytes: number): void
  /** A call is over and its stream closed. */
  forget(call: HeldCall): void
  /** A call was answered, refused or given up. */
  noteCall(call: HeldCall): void
  /** An answer was not read in time, or had to make room. */
  noteUnread(call: HeldCall): void
  /** A small piece of a message came, and the message is still not whole. */
  noteFragment(call: HeldCall): void
  /** How a call ends that is refused for an error. */
  toStatus(error: Error, requestId: string): StatusObject
  /** A call that needs no key has ended. */
  noteOpen(call: HeldCall, status: Pick<StatusObject, 'code' | 'details'>): void
}

/** What becomes of calls, for whoever counts and logs them. */
export type CallNotes = Pick<CallKeeper, 'noteCall' | 'noteFragment' | 'noteUnread' | 'noteOpen' | 'toStatus'>

/** The books of one port. */
export interface CallBooks extends CallKeeper {
  add(call: HeldCall): void
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
  told: CallNotes,
): CallBooks {
  // In the order in which they began.
  const calls = new Set<HeldCall>()
  const { stallMs, maxConnectionBytes, maxBytes } = bounds
  let sweptAtMs = clockMs()
  let heldBytes = 0

  function count(call: HeldCall, bytes: number): void {
    call.heldBytes += bytes
    call.connection.heldBytes += bytes
    heldBytes += bytes
  }

  /** What is whole and read at once holds nothing for long: what began first is slow, or means to be. */
  function makeRoom(connection: HeldCall['connection']): void {
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
