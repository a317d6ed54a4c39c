// Answers calls in Connect and gRPC-Web. Loaded by connect.ts with the first of them.
import type { DescMessage, DescMethod, DescService, MessageShape } from '@bufbuild/protobuf'
import {
  ConnectError,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type ServiceImpl,
} from '@connectrpc/connect'
import type { UniversalHandler } from '@connectrpc/connect/protocol'
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from '@connectrpc/connect-node'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { GuardError } from '../guard-error.ts'
import { checkQuery, readBody, takeBodyForm } from './connect-body.ts'
import type { CallHead, Gate, GuardedService, Requests, SingleCall, StreamCall } from '../service.ts'
import { findLargestMessage, type RequestBounds } from '../grpc/request-bytes.ts'

/** What this door knows about a call before the pipeline does. */
interface WebCall {
  head: CallHead
  /** Whether the call was logged and counted: by the gate, or by the pipeline. */
  isKnown: boolean
}

const callKey = createContextKey<WebCall | null>(null, { description: 'the call at the web door' })

/** Answers a call of a method. */
export type AnswerCall = (method: DescMethod, request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** Creates what answers calls of the services. */
export function createConnectCalls(services: readonly GuardedService[], bounds: RequestBounds): AnswerCall {
  const gates = new Map(services.flatMap(({ gates }) => [...gates]))
  const router = createConnectRouter({
    readMaxBytes: findLargestMessage(bounds),
    acceptCompression: [compressionGzip, compressionBrotli],
    // gRPC has its own, faster port.
    grpc: false,
    // Runs before the body is read.
    async requestGate(context) {
      const call = callOf(context)
      const gate = gates.get(context.method) as Gate
      try {
        call.head = { ...call.head, admitted: await gate.admit(context, call.head) }
      } catch (error) {
        call.isKnown = true
        throw toWebError(error)
      }
      if (context.requestMethod !== 'GET') return
      await checkQuery(context.url, context.method, bounds).catch((error: unknown) => {
        throw refuse(call, gate, error)
      })
    },
  })
  for (const service of services) router.service(service.service, toImpl(service))
  const handlers = new Map(router.handlers.map((handler) => [handler.method, handler]))
  return (method, request, reply) =>
    answer(handlers.get(method) as UniversalHandler, gates.get(method) as Gate, bounds, request, reply)
}

async function answer(
  handler: UniversalHandler,
  gate: Gate,
  bounds: RequestBounds,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { raw, client, id } = request
  const head = { authorization: raw.headers.authorization ?? null, address: client, requestId: id }
  const call: WebCall = { head, isKnown: false }
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value)
  // The client hung up while this was loaded: nothing would end the call.
  if (reply.raw.destroyed) return
  // Proxies must pass each message on as it comes.
  if (handler.method.methodKind === 'server_streaming')
    reply.raw.setHeader('cache-control', 'no-store, no-transform').setHeader('x-accel-buffering', 'no')
  const body = openBody(call, gate, handler.method, bounds, request)
  const values = createContextValues().set(callKey, call)
  try {
    const read = universalRequestFromNodeRequest(raw, reply.raw, undefined, values)
    const written = await handler(body ? { ...read, body } : read)
    if (!call.isKnown) gate.refuse(head, keepsToNoProtocol())
    await universalResponseToNodeResponse(written, reply.raw)
  } catch (error) {
    // Also when the client has left.
    reply.raw.destroy(error as Error)
  }
}

/** The error for a request that Connect refuses by itself; only the log and the counters use it. */
function keepsToNoProtocol(): GuardError {
  return new GuardError('invalid_request', 'The request follows none of the protocols that are served here.')
}

/** The body, which is read when Connect asks for it; undefined for one that Connect must refuse unread. */
function openBody(
  call: WebCall,
  gate: Gate,
  method: DescMethod,
  bounds: RequestBounds,
  { raw }: FastifyRequest,
): AsyncIterable<Uint8Array> | undefined {
  const form = takeBodyForm(raw.headers)
  if (!form) return undefined
  // The pipeline is already handles the upload, and reports its errors.
  if (method.methodKind === 'client_streaming') return readBody(raw, method, form, bounds, () => undefined)
  const body = readBody(raw, method, form, bounds, (bytes) => gate.spend(call.head, bytes))
  return (async function* () {
    try {
      yield* body
    } catch (error) {
      throw gate.isRefusal(error) ? refuse(call, gate, error) : error
    }
  })()
}

function refuse(call: WebCall, gate: Gate, error: unknown): ConnectError {
  call.isKnown = true
  return toWebError(gate.refuse(call.head, error))
}

function callOf({ values }: HandlerContext): WebCall {
  return values.get(callKey) as WebCall
}

function toImpl({ singles, streams }: GuardedService): ServiceImpl<DescService> {
  return Object.fromEntries([
    ...[...singles].map(([method, run]) => [method.localName, toWebSingle(run)] as const),
    ...[...streams].map(([method, run]) => [method.localName, toWebStream(run)] as const),
  ]) as ServiceImpl<DescService>
}

/** Hands the call to the pipeline, and answers with the request id. */
function openHead(context: HandlerContext): CallHead {
  const call = callOf(context)
  call.isKnown = true
  context.responseHeader.set('x-request-id', call.head.requestId)
  return call.head
}

function toWebSingle(run: SingleCall) {
  return async (input: WebInput, context: HandlerContext) => {
    try {
      return await run(toRequests(input), context, openHead(context))
    } catch (error) {
      throw toWebError(error)
    }
  }
}

function toWebStream(run: StreamCall) {
  return async function* (input: WebInput, context: HandlerContext) {
    try {
      yield* run(toRequests(input), context, openHead(context))
    } catch (error) {
      throw toWebError(error)
    }
  }
}

/** What Connect hands to an implementation: one request, or a stream of requests, depending on the method. */
type WebInput = MessageShape<DescMessage> | AsyncIterable<MessageShape<DescMessage>>

function toRequests(input: WebInput): Requests {
  return { one: () => input as MessageShape<DescMessage>, all: () => input as AsyncIterable<MessageShape<DescMessage>> }
}

/** The HTTP answer has the request id in a header; as error metadata too, clients would see it twice. */
function toWebError(thrown: unknown): ConnectError {
  const error = ConnectError.from(thrown)
  error.metadata.delete('x-request-id')
  return error
}
