// All open calls of the gRPC port, and the bytes that they hold: unfinished requests and answers that were not read.
import type { StatusObject } from '@grpc/grpc-js'
import type { CallHead } from '../service.ts'
import type { Connection } from './sessions.ts'

/** An open call. */
export interface HeldCall {
  readonly connection: Connection
  readonly route: { readonly rpc: string }
  readonly head: CallHead
  readonly beganAtMs: number
  /** Bytes of an unfinished request and of answers that were not read. */
  heldBytes: number
  /** Ends the call when its client takes or sends nothing for too long. */
  sweep(nowMs: number): void
  /** Ends the call, so that calls that hold fewer bytes have room. */
  giveUp(): void
}

/** Limits of what calls may hold. */
export interface CallBounds {
  /** Time window of a stall: in each, at least 64 KiB of a request must arrive, or its end, and as much of an answer must be read. */
  readonly stallMs: number
  /** Bytes of unfinished requests and of answers that were not read: of one connection, and of all. */
  readonly maxConnectionBytes: number
  readonly maxBytes: number
}

/** What a call uses of its port. */
export interface CallKeeper {
  readonly stallMs: number
  /** The time of the next sweep on a monotonic clock, used instead of now: reading the clock for each call would cost time. */
  readonly latestMs: number
  /** Adds to the bytes that a call holds; a negative number releases them. */
  hold(call: HeldCall, bytes: number): void
  /** A call is over and its stream closed. */
  forget(call: HeldCall): void
  /** A call was answered, refused or given up. */
  noteCall(call: HeldCall): void
  /** An answer was not read in time, or had to make room. */
  noteUnread(call: HeldCall): void
  /** A small piece of a message arrived that does not complete it. */
  noteFragment(call: HeldCall): void
  /** Converts an error into the status of a refused call. */
  toStatus(error: Error, requestId: string): StatusObject
  /** A call that needs no key has ended. */
  noteOpen(call: HeldCall, status: Pick<StatusObject, 'code' | 'details'>): void
}

/** Callbacks that count and log calls, and convert their errors. */
export type CallNotes = Pick<CallKeeper, 'noteCall' | 'noteFragment' | 'noteUnread' | 'noteOpen' | 'toStatus'>

/** The open calls of one port. */
export interface OpenCalls extends CallKeeper {
  add(call: HeldCall): void
  /** Ends calls that stall. */
  sweep(): void
}

/**
 * Creates the registry of open calls.
 * @param sweepMs interval of sweeps
 * @param clockMs a monotonic clock
 */
export function createOpenCalls(
  bounds: CallBounds,
  sweepMs: number,
  clockMs: () => number,
  told: CallNotes,
): OpenCalls {
  // Oldest first.
  const calls = new Set<HeldCall>()
  const { stallMs, maxConnectionBytes, maxBytes } = bounds
  let sweptAtMs = clockMs()
  let heldBytes = 0

  function count(call: HeldCall, bytes: number): void {
    call.heldBytes += bytes
    call.connection.heldBytes += bytes
    heldBytes += bytes
  }

  /** Ends the oldest calls first: an ordinary call holds bytes only for milliseconds, so the oldest are slow, perhaps on purpose. */
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
