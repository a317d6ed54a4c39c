// The door for browsers and `buf curl`: Connect and gRPC-Web on the HTTP port, by connect-fastify.
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import type { DescService } from '@bufbuild/protobuf'
import { ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import { readRequestId } from '../runtime/request-id.ts'
import type { Access } from './access.ts'
import { toConnectError, toMediagenError } from './errors.ts'
import type { CallHead, GuardedService, Served, StreamCall, UnaryCall, UploadCall } from './pipeline.ts'

/** Adds the services to an HTTP server. */
export function addConnect(
  app: FastifyInstance,
  services: readonly GuardedService[],
  parts: { access: Access; maxMessageBytes: number },
): void {
  void app.register(async (scope) => {
    // One request id for the answer, the log and the error; and the client's real address, not what it claims.
    scope.addHook('onRequest', (request, _reply, done) => {
      request.raw.headers['x-request-id'] = request.id
      request.raw.headers['x-forwarded-for'] = request.client
      done()
    })
    // Connect reads bodies itself, so this scope replaces the gateway's parser.
    scope.removeContentTypeParser('application/json')
    await scope.register(fastifyConnectPlugin, {
      routes(router) {
        for (const service of services) router.service(service.service, toImpl(service))
      },
      readMaxBytes: parts.maxMessageBytes,
      // gRPC has its own, faster port.
      grpc: false,
      // The pipeline checks again; this prevents unauthenticated callers from sending bodies.
      async requestGate(context) {
        try {
          await parts.access.authenticate(readHead(context.requestHeader))
        } catch (error) {
          throw toWebError(toConnectError(toMediagenError(error), readHead(context.requestHeader).requestId))
        }
      },
    })
  })
}

function toImpl(service: GuardedService): ServiceImpl<DescService> {
  const unary = [...service.unary].map(([method, run]) => [method.localName, toWebUnary(run)] as const)
  const streams = [...service.streams].map(([method, run]) => [method.localName, toWebStream(run)] as const)
  const uploads = [...service.uploads].map(([method, run]) => [method.localName, toWebUpload(run)] as const)
  return Object.fromEntries([...unary, ...streams, ...uploads]) as ServiceImpl<DescService>
}

/** Reads the header, and answers with the request id. */
function openHead({ requestHeader, responseHeader }: HandlerContext): CallHead {
  const head = readHead(requestHeader)
  responseHeader.set('x-request-id', head.requestId)
  return head
}

function readHead(header: Headers): CallHead {
  return {
    authorization: header.get('authorization'),
    address: header.get('x-forwarded-for'),
    requestId: readRequestId(header.get('x-request-id')),
  }
}

function toWebUnary(run: UnaryCall): Served<UnaryCall> {
  return async (request, context) => {
    try {
      return await run(() => request, context, openHead(context))
    } catch (error) {
      throw toWebError(error)
    }
  }
}

function toWebUpload(run: UploadCall): Served<UploadCall> {
  return async (requests, context) => {
    try {
      return await run(requests, context, openHead(context))
    } catch (error) {
      throw toWebError(error)
    }
  }
}

function toWebStream(run: StreamCall): Served<StreamCall> {
  return async function* (request, context) {
    try {
      yield* run(() => request, context, openHead(context))
    } catch (error) {
      throw toWebError(error)
    }
  }
}

/** The HTTP answer has the request id in a header; as error metadata too, clients would see it twice. */
function toWebError(thrown: unknown): ConnectError {
  const error = ConnectError.from(thrown)
  error.metadata.delete('x-request-id')
  return error
}
