// The rpcs of the gRPC port by their paths, each run through the pipeline.
import type { DescMethod } from '@bufbuild/protobuf'
import { ConnectError, type HandlerContext } from '@connectrpc/connect'
import type { GrpcCall } from './grpc-call.ts'
import type { GuardedService, Requests } from './pipeline.ts'
import type { RequestBounds } from './request-bytes.ts'
import type { Connection } from './sessions.ts'

/** An rpc. */
export interface Route {
  readonly method: DescMethod
  readonly bounds: RequestBounds
  /** Answers a call, whatever comes of it. */
  run(call: GrpcCall, context: HandlerContext): void
}

/** Told when the pipeline has admitted the caller, before anything of the request is read. */
type Admitted = (connection: Connection) => void

/** Creates the routes of a service, by their paths. */
export function createRoutes(
  service: GuardedService,
  bounds: RequestBounds,
  admitted: Admitted,
): (readonly [string, Route])[] {
  const toRoute = (method: DescMethod, answer: (call: GrpcCall, context: HandlerContext) => Promise<void>) => {
    const run: Route['run'] = (call, context) => {
      answer(call, context).catch((error: unknown) => call.refuse(ConnectError.from(error)))
    }
    return [`/${method.parent.typeName}/${method.name}`, { method, bounds, run }] as const
  }
  const toRequests = (call: GrpcCall): Requests => ({
    one(spend) {
      admitted(call.connection)
      return call.readOne(spend)
    },
    async *all() {
      admitted(call.connection)
      yield* call.readAll()
    },
  })
  return [
    ...[...service.singles].map(([method, run]) =>
      toRoute(method, async (call, context) => call.answer(await run(toRequests(call), context, call.head))),
    ),
    ...[...service.streams].map(([method, run]) =>
      toRoute(method, (call, context) => call.answerAll(run(toRequests(call), context, call.head))),
    ),
  ]
}
