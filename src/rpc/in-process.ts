// The door for callers in the same process: a Connect Transport that passes messages without serializing them.
import { create, type DescMethod } from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
  type Transport,
} from '@connectrpc/connect'
import { readRequestId } from '../runtime/request-id.ts'
import type { CallHead, GuardedService, StreamCall, UnaryCall, UploadCall } from './pipeline.ts'

const neverAborts = new AbortController().signal

/** Creates a transport to guarded services. */
export function createInProcessTransport(services: readonly GuardedService[]): Transport {
  const unary = new Map<DescMethod, UnaryCall>(services.flatMap((service) => [...service.unary]))
  const streams = new Map<DescMethod, StreamCall>(services.flatMap((service) => [...service.streams]))
  const uploads = new Map<DescMethod, UploadCall>(services.flatMap((service) => [...service.uploads]))
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const run = unary.get(method)
      if (!run) throw notServed(method)
      const head = readHead(header)
      const context = createCallContext(method, signal, timeoutMs, head, contextValues)
      const message = await run(() => create(method.input, input), context, head)
      throwIfOver(context.signal)
      return {
        stream: false,
        service: method.parent,
        method,
        // Created on access.
        get header() {
          return context.responseHeader
        },
        get trailer() {
          return context.responseTrailer
        },
        message: create(method.output, message as never),
      }
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const run = streams.get(method)
      const upload = uploads.get(method)
      if (!run && !upload) throw notServed(method)
      const head = readHead(header)
      const context = createCallContext(method, signal, timeoutMs, head, contextValues)
      const messages = run
        ? run(async () => create(method.input, await readOne(input)), context, head)
        : answerOnce(upload as UploadCall, toRequests(method, input as AsyncIterable<never>), context, head)
      return {
        stream: true,
        service: method.parent,
        method,
        header: context.responseHeader,
        trailer: context.responseTrailer,
        message: toMessages(method, messages, context.signal) as never,
      }
    },
  }
}

/** The one request of a server-streaming call. */
async function readOne<Message>(messages: AsyncIterable<Message>): Promise<Message> {
  for await (const message of messages) return message
  throw new ConnectError('the call carries no request', Code.InvalidArgument)
}

async function* toRequests(method: DescMethod, messages: AsyncIterable<never>) {
  for await (const message of messages) yield create(method.input, message)
}

async function* answerOnce(run: UploadCall, ...call: Parameters<UploadCall>) {
  yield await run(...call)
}

async function* toMessages(method: DescMethod, messages: ReturnType<StreamCall>, signal: AbortSignal) {
  for await (const message of messages) yield create(method.output, message)
  throwIfOver(signal)
}

/** A service ends early when its signal aborts; this reports the reason to the caller, as a connection would. */
function throwIfOver(signal: AbortSignal): void {
  if (!signal.aborted) return
  const late = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
  throw late
    ? new ConnectError('the deadline passed', Code.DeadlineExceeded)
    : new ConnectError('the caller left', Code.Canceled)
}

function notServed(method: DescMethod): ConnectError {
  return new ConnectError(`${method.parent.typeName}.${method.name} is not served here`, Code.Unimplemented)
}

/**
 * Reads a header without a Headers object, which would take longer than the whole pipeline. Callers in this process are trusted
 * to name their client.
 */
function readHead(sent: HeadersInit = {}): CallHead {
  let authorization: string | null = null
  let address: string | null = null
  let requestId: string | null = null
  const entries = sent instanceof Headers || Array.isArray(sent) ? sent : Object.entries(sent)
  for (const [name, value] of entries as Iterable<[string, string]>) {
    switch (name.toLowerCase()) {
      case 'authorization':
        authorization = value
        break
      case 'x-forwarded-for':
        address = value
        break
      case 'x-request-id':
        requestId = value
    }
  }
  return { authorization, address, requestId: readRequestId(requestId) }
}

/**
 * A HandlerContext for calls outside a Connect handler; `createHandlerContext` costs five times as much. Headers are created on
 * access; our services do not access them. So is the signal, where `given` creates one.
 */
export function createCallContext(
  method: DescMethod,
  given: AbortSignal | (() => AbortSignal) | undefined,
  timeoutMs: number | undefined,
  { authorization, requestId }: CallHead,
  values?: ContextValues,
): HandlerContext {
  const startedAt = timeoutMs === undefined ? 0 : performance.now()
  const deadline = timeoutMs === undefined ? undefined : AbortSignal.timeout(Math.max(0, timeoutMs))
  let signal: AbortSignal | undefined
  return {
    method,
    service: method.parent,
    get signal() {
      signal ??= joinSignals(typeof given === 'function' ? given() : given, deadline)
      return signal
    },
    timeoutMs: () => (timeoutMs === undefined ? undefined : timeoutMs - (performance.now() - startedAt)),
    requestMethod: 'POST',
    get requestHeader() {
      return new Headers({ ...(authorization && { authorization }), 'x-request-id': requestId })
    },
    get responseHeader() {
      return new Headers({ 'x-request-id': requestId })
    },
    get responseTrailer() {
      return new Headers()
    },
    protocolName: 'in-process',
    values: values ?? createContextValues(),
    url: `mediagen:/${method.parent.typeName}/${method.name}`,
  }
}

function joinSignals(signal: AbortSignal | undefined, deadline: AbortSignal | undefined): AbortSignal {
  return signal && deadline ? AbortSignal.any([signal, deadline]) : (signal ?? deadline ?? neverAborts)
}
