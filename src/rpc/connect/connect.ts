// The door for browsers and `buf curl`: Connect and gRPC-Web on the HTTP port.
import type { DescMessage, DescMethod, DescService, MessageShape } from '@bufbuild/protobuf'
import {
  ConnectError,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type ServiceImpl,
} from '@connectrpc/connect'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MediagenError } from '../../core/errors.ts'
import { readTraceHeaders } from '../../core/traces.ts'
import type { CallHead, Gate, GuardedService, Requests, SingleCall, StreamCall } from '../../services/calls/service.ts'
import { findLargestMessage, type RequestBounds } from '../grpc/request-bytes.ts'
import { checkQuery, readBody, takeBodyForm } from './connect-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The call that a request to Connect makes. */
    readonly rpc: WebCall | null
  }
}

/** What this door knows about a call before the pipeline does. */
interface WebCall {
  readonly method: DescMethod
  readonly gate: Gate
  head: CallHead
  /** Whether the call was logged and counted: by the gate, or by the pipeline. */
  isKnown: boolean
}

const callKey = createContextKey<WebCall | null>(null, { description: 'the call at the web door' })

/** Adds the services to an HTTP server. */
export function addConnect(app: FastifyInstance, services: readonly GuardedService[], bounds: RequestBounds): void {
  void app.register(async (scope) => {
    // Bodies are read as calls need them; the parsers of the gateway do not see them.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
    scope.decorateRequest('rpc', null)
    openCalls(scope, services, bounds)
    await scope.register(fastifyConnectPlugin, {
      routes(router) {
        for (const service of services) router.service(service.service, toImpl(service))
      },
      readMaxBytes: findLargestMessage(bounds),
      // gRPC has its own port.
      grpc: false,
      contextValues: ({ rpc }) => createContextValues().set(callKey, rpc),
      // Runs before the body is read.
      requestGate: (context) => admit(context, bounds),
    })
  })
}

/** Makes a call of each request before Connect sees it, and counts what Connect refuses by itself. */
function openCalls(scope: FastifyInstance, services: readonly GuardedService[], bounds: RequestBounds): void {
  const gates = new Map(services.flatMap((service) => [...service.gates]))
  const methods = new Map([...gates.keys()].map((method) => [`/${method.parent.typeName}/${method.name}`, method]))
  scope.addHook('preHandler', async (request, reply) => {
    const method = methods.get(request.routeOptions.url ?? '')
    if (!method) return
    const { raw, client, id } = request
    // Which HTTP/1.0 may leave out, but Connect needs.
    if (raw.headers.host === undefined) throw new MediagenError('invalid_request', 'The request has no Host header.')
    const { authorization = null, origin = null } = raw.headers
    const trace = readTraceHeaders(raw.headers)
    const head = { authorization, origin, address: client, requestId: id, trace }
    const rpc: WebCall = { method, gate: gates.get(method) as Gate, head, isKnown: false }
    // Connect reads the body from here.
    Object.assign(request, { rpc, body: openBody(rpc, bounds, request) })
    // Proxies must pass each message on as it comes.
    if (method.methodKind === 'server_streaming')
      reply.headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
  })
  scope.addHook('onResponse', async ({ rpc, raw }: FastifyRequest, _reply: FastifyReply) => {
    if (rpc && !rpc.isKnown) rpc.gate.refuse(rpc.head, keepsToNoProtocol())
    // The rest of a body that was refused: what comes after it on the connection is to be read.
    raw.resume()
  })
}

async function admit(context: HandlerContext, bounds: RequestBounds): Promise<void> {
  const call = callOf(context)
  try {
    call.head = { ...call.head, admitted: await call.gate.admit(context, call.head) }
  } catch (error) {
    call.isKnown = true
    throw toWebError(error)
  }
  if (context.requestMethod !== 'GET') return
  await checkQuery(context.url, context.method, bounds).catch((error: unknown) => {
    throw refuse(call, error)
  })
}

/** The error for a request that Connect refuses by itself; only the log and the counters use it. */
function keepsToNoProtocol(): MediagenError {
  return new MediagenError('invalid_request', 'The request follows none of the protocols that are served here.')
}

/** The body, which is read when Connect asks for it; undefined for one that Connect must refuse unread. */
function openBody(
  call: WebCall,
  bounds: RequestBounds,
  { raw }: FastifyRequest,
): AsyncIterable<Uint8Array> | undefined {
  const form = takeBodyForm(raw.headers)
  if (!form) return undefined
  const { method, gate } = call
  const pieces = raw.iterator({ destroyOnReturn: false })
  // The pipeline already handles the upload, and reports its errors.
  if (method.methodKind === 'client_streaming') return readBody(pieces, method, form, bounds, async () => {})
  const body = readBody(pieces, method, form, bounds, (bytes) => gate.spend(call.head, bytes))
  return (async function* () {
    try {
      yield* body
    } catch (error) {
      throw error instanceof MediagenError ? refuse(call, error) : error
    }
  })()
}

function refuse(call: WebCall, error: unknown): ConnectError {
  call.isKnown = true
  return toWebError(call.gate.refuse(call.head, error))
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

/** Hands the call to the pipeline. */
function openHead(context: HandlerContext): CallHead {
  const call = callOf(context)
  call.isKnown = true
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
  return {
    one: async () => input as MessageShape<DescMessage>,
    all: () => input as AsyncIterable<MessageShape<DescMessage>>,
  }
}

/** The HTTP answer has the request id in a header; as error metadata too, clients would see it twice. */
function toWebError(thrown: unknown): ConnectError {
  const error = ConnectError.from(thrown)
  error.metadata.delete('x-request-id')
  return error
}
