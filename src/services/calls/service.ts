// Services in the form that doors serve: behind guards that admit callers, count and log.
import type { DescMessage, DescMethod, DescService, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import type { TraceContext } from '../../core/traces.ts'

/** The head of a call, as its door read it. */
export interface CallHead {
  /** The value of the header `authorization`. */
  readonly authorization: string | null
  /** Address of the client, as far as it is known. */
  readonly address: string | null
  /** The host at which the client reached the HTTP port; unset at other doors. */
  readonly host?: string | null
  /** The website whose script calls, as the browser says; unset for other programs. */
  readonly origin?: string | null
  /** Request id for the log and the answer. */
  readonly requestId: string
  /** Where the caller is in a trace; unset or null if it did not say. */
  readonly trace?: TraceContext | null
  /** The caller, when the gate has already admitted it. */
  readonly admitted?: unknown
}

/** The requests of a call. The service asks for one or for all once the caller is admitted; a door need not read them earlier. */
export interface Requests {
  /** @param spend called with the size of the request before it is decoded, by doors that can; throws when it is too much */
  one(spend: Spend): Promise<Request>
  /** Messages are read only as fast as they are used. */
  all(): AsyncIterable<Request>
}

/** Counts bytes of requests. @throws when they are too many */
export type Spend = (bytes: number) => Promise<void>

type Request = MessageShape<DescMessage>
type Response = MessageInitShape<DescMessage>

/** An rpc with one response, behind its guard. */
export type SingleCall = (requests: Requests, context: HandlerContext, head: CallHead) => Promise<Response>

/** An rpc that streams its responses, behind its guard. */
export type StreamCall = (requests: Requests, context: HandlerContext, head: CallHead) => AsyncIterable<Response>

/** The first part of a guard, for a door whose library reads a request before it calls the service. */
export interface Gate {
  /** Admits the caller. A refusal is logged and counted. @throws ConnectError */
  admit(context: HandlerContext, head: CallHead): Promise<unknown>
  /** Counts the bytes of a request of an admitted caller. */
  spend(head: CallHead, bytes: number): ReturnType<Spend>
  /** Logs and counts a call that does not get as far as the service; returns the error to send. */
  refuse(head: CallHead, thrown: unknown): Error
}

/** A service behind its guard: what every door serves. */
export interface GuardedService {
  readonly service: DescService
  readonly singles: ReadonlyMap<DescMethod, SingleCall>
  readonly streams: ReadonlyMap<DescMethod, StreamCall>
  readonly gates: ReadonlyMap<DescMethod, Gate>
}
