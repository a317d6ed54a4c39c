// Registers services with grpc-js, without handlers: guarded calls serve them as soon as grpc-js has the header.
import { create, type DescMessage, type DescMethod, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { ConnectError, type HandlerContext } from '@connectrpc/connect'
import type { MethodDefinition, Server } from '@grpc/grpc-js'
import { CallContext } from '../../services/calls/call-context.ts'
import type { GuardedService, Requests } from '../../services/calls/service.ts'
import type { GrpcRoute, GuardedCall } from './guarded-call.ts'
import { decodeRequest, findLargestMessage, type RequestBounds, weighRequest } from './request-bytes.ts'
import type { Connection } from './sessions.ts'

/** What routes need. */
export interface RouteDeps {
  readonly bounds: RequestBounds
  /** Called when the pipeline has admitted the caller, before the request is read. */
  admitted(connection: Connection): void
}

type Answer = (call: GuardedCall, context: HandlerContext) => Promise<void>

/** Adds a service to a server; returns its routes by their paths. */
export function addService(server: Server, service: GuardedService, deps: RouteDeps): Map<string, GrpcRoute> {
  const maxBytes = findLargestMessage(deps.bounds)
  const routes = new Map<string, GrpcRoute>()
  for (const [method, answer] of createAnswers(service, deps)) {
    const { methodKind, name, parent } = method
    routes.set(`/${parent.typeName}/${name}`, {
      rpc: `${parent.name}.${name}`,
      maxBytes,
      takesMany: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
      answer: { by: 'service', serve: (call) => serve(call, method, answer) },
    })
  }
  server.addService(Object.fromEntries([...routes.keys()].map((path) => [path, toDefinition(path)])), {})
  return routes
}

function serve(call: GuardedCall, method: DescMethod, answer: Answer): void {
  const context = new CallContext(method, call.head, call.signal)
  answer(call, context).catch((error: unknown) => call.refuse(ConnectError.from(error)))
}

function createAnswers({ singles, streams }: GuardedService, { bounds, admitted }: RouteDeps) {
  const toRequests = (call: GuardedCall, method: DescMethod): Requests => ({
    async one(spend) {
      admitted(call.connection)
      const bytes = await call.readOne()
      await spend(weighRequest(method, bytes, bounds))
      return decodeRequest(method, bytes, bounds)
    },
    async *all() {
      admitted(call.connection)
      for await (const bytes of call.readAll()) yield decodeRequest(method, bytes, bounds)
    },
  })
  const answers = new Map<DescMethod, Answer>()
  for (const [method, run] of singles)
    answers.set(method, async (call, context) =>
      call.answer(encode(method, await run(toRequests(call, method), context, call.head))),
    )
  for (const [method, run] of streams)
    answers.set(method, (call, context) =>
      call.answerAll(encodeAll(method, run(toRequests(call, method), context, call.head))),
    )
  return answers
}

// A frozen message is one that a service answers with again and again.
const encoded = new WeakMap<object, Buffer>()

function encode({ output }: DescMethod, answer: unknown): Buffer {
  const frozen = Object.isFrozen(answer)
  const known = frozen ? encoded.get(answer as object) : undefined
  if (known) return known
  const message = create(output, answer as MessageInitShape<DescMessage>)
  const { buffer, byteOffset, byteLength } = toBinary(output, message)
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  if (frozen) encoded.set(answer as object, bytes)
  return bytes
}

async function* encodeAll(method: DescMethod, messages: AsyncIterable<unknown>) {
  for await (const message of messages) yield encode(method, message)
}

/** Passes bytes through unchanged; they are decoded when the pipeline asks for them. */
function toDefinition(path: string): MethodDefinition<Buffer, Buffer> {
  const pass = (bytes: Buffer): Buffer => bytes
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: pass,
    requestDeserialize: pass,
    responseSerialize: pass,
    responseDeserialize: pass,
  }
}
