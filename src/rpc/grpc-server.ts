// The gRPC door: grpc-js fed with the generated descriptors, with server reflection (v1, v1alpha) and health.
import {
  create,
  type DescFile,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
  toJson,
} from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect'
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import * as grpc from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'
import { HealthImplementation } from 'grpc-health-check'
import { file_mediagen_v1_errors } from '../../gen/mediagen/v1/errors_pb.ts'
import { MediagenError } from '../core/errors.ts'
import { type Door, toListenError } from '../runtime/listen-error.ts'
import { readRequestId } from '../runtime/request-id.ts'
import type { FindClient } from '../net/client-address.ts'
import { toConnectError } from './errors.ts'
import { loadHealthFile } from './health-file.ts'
import { createCallContext } from './in-process.ts'
import type { CallHead, GuardedService, StreamCall, UnaryCall, UploadCall } from './pipeline.ts'

// Node closes a session, bystanders and all, after about 1000 quick cancels: a busy client that gives up many calls is no attack.
// Still a bound: a session that resets faster than this is closed.
const streamResets = { streamResetBurst: 20_000, streamResetRate: 5_000 }

/** A running gRPC server. */
export interface GrpcServer {
  readonly port: number
  /** Tells health checks that this server is going away. */
  drain(): void
  /** Refuses new calls, waits for calls under way up to `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>
}

/** Where to listen and how much to take. */
export interface GrpcServerOptions {
  readonly host: string
  readonly port: number
  /** Whether clients may ask for the schema of what is served here. */
  readonly reflection: boolean
  /** What this port is called when it cannot be had. Default: gRPC. */
  readonly door?: Door
  /** Largest JSON body that the REST door takes; a gateway in front must be able to hand it on. */
  readonly maxBodyBytes: number
  /** Who the client behind a connection is. */
  readonly findClient: FindClient
}

// `0,` is two bytes of JSON and eleven of a Struct; nothing grows more.
const messageGrowth = 6
const messageSlack = 1024

/**
 * Starts the server.
 * @throws StartupError when the port cannot be had.
 */
export async function startGrpcServer(
  services: readonly GuardedService[],
  options: GrpcServerOptions,
): Promise<GrpcServer> {
  // What matters comes as an error; standard error is for the one sentence that tells it.
  grpc.setLogVerbosity(grpc.logVerbosity.NONE)
  const server = new grpc.Server({
    'grpc.max_receive_message_length': options.maxBodyBytes * messageGrowth + messageSlack,
    'grpc.keepalive_time_ms': 30_000,
  })
  allowStreamResets(server)
  for (const service of services)
    server.addService(
      toServiceDefinition(service.service, options.maxBodyBytes),
      toHandlers(service, options.findClient),
    )
  if (options.reflection) createReflection(services.map(({ service }) => service)).addToServer(server)
  const names = ['', ...services.map(({ service }) => service.typeName)]
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, 'SERVING' as const])))
  health.addToServer(server)
  const port = await bind(server, options)
  return {
    port,
    drain() {
      for (const name of names) health.setStatus(name, 'NOT_SERVING')
    },
    close: (graceMs) => closeServer(server, graceMs),
  }
}

/** grpc-js has no option that reaches Node's; test/rpc/rapid-reset.test.ts tells when this stops to work. */
function allowStreamResets(server: grpc.Server): void {
  Object.assign((server as unknown as { commonServerOptions: object }).commonServerOptions, streamResets)
}

function bind(server: grpc.Server, { host, port, door = 'gRPC' }: GrpcServerOptions): Promise<number> {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  return new Promise((resolve, reject) => {
    server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(toListenError(door, host, port, error))
      else resolve(bound)
    })
  })
}

async function closeServer(server: grpc.Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()))
  const timer = setTimeout(() => server.forceShutdown(), graceMs)
  await closed
  clearTimeout(timer)
}

function toServiceDefinition(service: DescService, maxBodyBytes: number): grpc.ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => {
      const definition: grpc.MethodDefinition<unknown, unknown> = {
        path: `/${service.typeName}/${method.name}`,
        requestStream: method.methodKind === 'client_streaming',
        responseStream: method.methodKind === 'server_streaming',
        requestSerialize: (message) => Buffer.from(toBinary(method.input, message as never)),
        requestDeserialize: (bytes) => readRequest(method, bytes, maxBodyBytes),
        responseSerialize: (message) => Buffer.from(toBinary(method.output, message as never)),
        responseDeserialize: (bytes) => fromBinary(method.output, bytes),
      }
      return [method.name, definition]
    }),
  )
}

/**
 * The message, or its refusal: an error thrown here grpc-js would call a fault of this server.
 * A message is too large when it would be as JSON, so that one limit holds at every door.
 */
function readRequest(method: DescMethod, bytes: Buffer, maxBodyBytes: number): unknown {
  let message: Message
  try {
    message = fromBinary(method.input, bytes)
  } catch (error) {
    return new MediagenError('invalid_request', `The request is not a ${method.input.typeName}.`, {}, { cause: error })
  }
  if (bytes.length > maxBodyBytes && measureJson(method, message) > maxBodyBytes + messageSlack)
    return new MediagenError(
      'payload_too_large',
      `The request is larger than the ${maxBodyBytes} bytes that this server accepts.`,
    )
  return message
}

function measureJson(method: DescMethod, message: Message): number {
  return Buffer.byteLength(JSON.stringify(toJson(method.input, message)))
}

function findRefusal(request: unknown, { requestId }: CallHead): ConnectError | null {
  return request instanceof MediagenError ? toConnectError(request, requestId) : null
}

function toHandlers(service: GuardedService, findClient: FindClient): grpc.UntypedServiceImplementation {
  const unary = [...service.unary].map(
    ([method, run]) => [method.name, toUnaryHandler(method, run, findClient)] as const,
  )
  const streams = [...service.streams].map(
    ([method, run]) => [method.name, toStreamHandler(method, run, findClient)] as const,
  )
  const uploads = [...service.uploads].map(
    ([method, run]) => [method.name, toUploadHandler(method, run, findClient)] as const,
  )
  return Object.fromEntries([...unary, ...streams, ...uploads]) as grpc.UntypedServiceImplementation
}

function toUnaryHandler(
  method: DescMethod,
  run: UnaryCall,
  findClient: FindClient,
): grpc.handleUnaryCall<never, unknown> {
  return (call, callback) => {
    const head = readHead(call, findClient)
    const refusal = findRefusal(call.request, head)
    if (refusal) return callback(toServiceError(refusal))
    run(() => call.request, openContext(method, call, head), head).then(
      (message) => {
        call.sendMetadata(toResponseHeader(head))
        callback(null, create(method.output, message as never))
      },
      (error: unknown) => callback(toServiceError(error)),
    )
  }
}

function toUploadHandler(
  method: DescMethod,
  run: UploadCall,
  findClient: FindClient,
): grpc.handleClientStreamingCall<unknown, unknown> {
  return (call, callback) => {
    const head = readHead(call, findClient)
    run(readAll(call), openContext(method, call, head), head).then(
      (message) => {
        call.sendMetadata(toResponseHeader(head))
        callback(null, create(method.output, message as never))
      },
      (error: unknown) => callback(toServiceError(error)),
    )
  }
}

/** Messages as they are asked for: while none is, the flow control of HTTP/2 holds the client. */
async function* readAll(call: grpc.ServerReadableStream<unknown, unknown>): AsyncIterable<Message> {
  // An early end must not destroy the call: its refusal is still to be sent.
  for await (const request of call.iterator({ destroyOnReturn: false })) {
    if (request instanceof MediagenError) throw request
    yield request as Message
  }
}

function toStreamHandler(
  method: DescMethod,
  run: StreamCall,
  findClient: FindClient,
): grpc.handleServerStreamingCall<never, unknown> {
  return (call) => {
    const head = readHead(call, findClient)
    const refusal = findRefusal(call.request, head)
    if (refusal) return void call.emit('error', toServiceError(refusal))
    sendAll(
      call,
      method,
      run(() => call.request, openContext(method, call, head), head),
      head,
    ).catch((error: unknown) => call.emit('error', toServiceError(error)))
  }
}

async function sendAll(
  call: grpc.ServerWritableStream<never, unknown>,
  method: DescMethod,
  messages: ReturnType<StreamCall>,
  head: CallHead,
): Promise<void> {
  let begun = false
  for await (const message of messages) {
    if (call.cancelled) return
    if (!begun) call.sendMetadata(toResponseHeader(head))
    begun = true
    // A reader that does not keep up holds the loop here, and the feed keeps only the latest state meanwhile.
    if (!call.write(create(method.output, message as never))) await drained(call)
  }
  call.end()
}

function drained(call: grpc.ServerWritableStream<never, unknown>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      call.off('drain', done)
      call.off('cancelled', done)
      resolve()
    }
    call.on('drain', done)
    call.on('cancelled', done)
  })
}

/** What calls of every kind have in common. */
interface ServerCall {
  readonly metadata: grpc.Metadata
  getPeer(): string
  once(event: 'cancelled', listener: () => void): unknown
}

function readHead(call: ServerCall, findClient: FindClient): CallHead {
  const find = (name: string): string | null => {
    const [value] = call.metadata.get(name)
    return typeof value === 'string' ? value : null
  }
  return {
    authorization: find('authorization'),
    requestId: readRequestId(find('x-request-id')),
    // Looked for when somebody asks, which is seldom: grpc-js takes its time.
    get address() {
      return findClient(call.getPeer().replace(/:\d+$/, ''), find('x-forwarded-for'))
    },
  }
}

function toResponseHeader({ requestId }: CallHead): grpc.Metadata {
  const metadata = new grpc.Metadata()
  metadata.set('x-request-id', requestId)
  return metadata
}

function openContext(method: DescMethod, call: ServerCall, head: CallHead): HandlerContext {
  const gone = new AbortController()
  // grpc-js cancels the call when the client hangs up and when its deadline passes.
  call.once('cancelled', () => gone.abort(new ConnectError('the client hung up or its deadline passed', Code.Canceled)))
  return createCallContext(method, gone.signal, undefined, head)
}

function toMetadata(headers: Headers): grpc.Metadata {
  const metadata = new grpc.Metadata()
  for (const [name, value] of headers) metadata.set(name, value)
  return metadata
}

function toServiceError(thrown: unknown): Partial<grpc.StatusObject> {
  const error = ConnectError.from(thrown)
  const trailer = new Headers()
  setTrailerStatus(trailer, error)
  const metadata = toMetadata(error.metadata)
  const details = trailer.get('grpc-status-details-bin')
  if (details) metadata.set('grpc-status-details-bin', Buffer.from(details, 'base64'))
  return { code: error.code as number, details: error.rawMessage, metadata }
}

function createReflection(services: readonly DescService[]): ReflectionService {
  const files = new Map<string, DescFile>()
  const collect = (file: DescFile): void => {
    if (files.has(file.name)) return
    for (const dependency of file.dependencies) collect(dependency)
    files.set(file.name, file)
  }
  for (const service of services) collect(service.file)
  // No service names it: error details travel packed, and a client asks for their type by name.
  collect(file_mediagen_v1_errors)
  const fileDescriptorProtos = [...[...files.values()].map(({ proto }) => proto), loadHealthFile()].map((proto) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, proto)),
  )
  // Reflection reads the descriptors only; the rest of a proto-loader package is not needed.
  return new ReflectionService({ files: { fileDescriptorProtos } } as never)
}
