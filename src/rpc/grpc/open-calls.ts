// All open calls of the gRPC port, and the bytes that they hold: unfinished requests and answers that were not read.
import type { StatusObject } from '@grpc/grpc-js'
import type { CallHead } from '../../services/calls/service.ts'
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

/** Callbacks that count and log calls, and convert their errors. */
export interface CallNotes {
  /** An answer was not read in time, or had to make room. */
  noteUnread(call: HeldCall): void
  /** A small piece of a message arrived that does not complete it. */
  noteFragment(connection: Connection): void
  /** A call that needs no key has ended. */
  noteOpen(call: HeldCall, status: Pick<StatusObject, 'code' | 'details'>): void
  /** Converts an error into the status of a refused call. */
  toStatus(error: Error, requestId: string): StatusObject
}

/** The open calls of one port. */
export interface OpenCalls extends CallNotes {
  readonly stallMs: number
  add(call: HeldCall): void
  /** Adds to the bytes that a call holds; a negative number releases them. */
  hold(call: HeldCall, bytes: number): void
  /** A call is over and its stream closed. */
  forget(call: HeldCall): void
  /** Ends calls that stall. */
  sweep(): void
}

/** Creates the registry of open calls. */
export function createOpenCalls({ stallMs, maxConnectionBytes, maxBytes }: CallBounds, notes: CallNotes): OpenCalls {
  // Oldest first.
  const calls = new Set<HeldCall>()
  let heldBytes = 0

  function count(call: HeldCall, bytes: number): void {
    call.heldBytes += bytes
    call.connection.heldBytes += bytes
    heldBytes += bytes
  }

  /** Ends the oldest calls first: an ordinary call holds bytes only for milliseconds, so the oldest are slow, perhaps on purpose. */
  function makeRoom(connection: Connection): void {
    for (const call of calls) {
      const isFull = heldBytes > maxBytes
      if (!isFull && connection.heldBytes <= maxConnectionBytes) return
      if (call.heldBytes > 0 && (isFull || call.connection === connection)) call.giveUp()
    }
  }

  return {
    ...notes,
    stallMs,
    add(call) {
      calls.add(call)
    },
    hold(call, bytes) {
      count(call, bytes)
      if (bytes > 0) makeRoom(call.connection)
    },
    forget(call) {
      calls.delete(call)
      count(call, -call.heldBytes)
    },
    sweep() {
      const nowMs = performance.now()
      for (const call of calls) call.sweep(nowMs)
    },
  }
}
