// The gRPC port: all services behind guards, with health and reflection for everyone.
import { ConnectError } from '@connectrpc/connect'
import * as grpc from '@grpc/grpc-js'
import type { SignIns } from '../../core/accounts/sign-in.ts'
import { MediagenError } from '../../core/errors.ts'
import type { SubmissionNotifications } from '../../core/jobs/submission-url.ts'
import { type Door, toListenError } from '../../core/listen-error.ts'
import { cutText } from '../../core/text/log-text.ts'
import { readRequestId } from '../../guards/request-id.ts'
import type { GuardedService } from '../../services/calls/service.ts'
import { toConnectError } from '../errors.ts'
import { toStatus } from '../grpc-status.ts'
import { addOpenServices, type OpenServices } from '../open-services.ts'
import type { PipelineDeps } from '../pipeline.ts'
import { type GuardBounds, type GuardedServerOptions, startGuardedServer } from './guarded-server.ts'
import type { HeldCall } from './open-calls.ts'
import type { RequestBounds } from './request-bytes.ts'
import { addService } from './routes.ts'

/** A running gRPC server. */
export interface GrpcServer {
  readonly port: number
  /** Reports to health checks that this server is stopping. */
  drain(): void
  /** Refuses new calls, waits for calls under way up to `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>
}

/** The limits of the port. */
export interface GrpcBounds extends RequestBounds, GuardBounds {
  /** Size of a request to a service that needs no key. */
  readonly maxOpenRequestBytes: number
}

/** The address, the callers and the limits of the port. */
export interface GrpcServerOptions extends Pick<GuardedServerOptions, 'host' | 'port' | 'findClient'> {
  /** Whether clients may ask for the schema of what is served here. */
  readonly reflection: boolean
  /** The name of this port in the error when it cannot be opened. Default: gRPC. */
  readonly door?: Door
  /** Called once for each call to a service that needs a key; returns the reason to refuse the call at once, if any. */
  readonly shed: () => MediagenError | null
  readonly bounds: GrpcBounds
  /** Receives the reports of providers that gateways pass on. */
  readonly submissions: SubmissionNotifications
  /** People who sign in, which gateways pass on likewise. */
  readonly signIns: SignIns
  /** Logs and counts refusals, and calls of services that need no key. */
  readonly pipeline: PipelineDeps
}

/**
 * Starts the server.
 * @throws StartupError when the port cannot be opened.
 */
export async function startGrpcServer(
  services: readonly GuardedService[],
  options: GrpcServerOptions,
): Promise<GrpcServer> {
  const { bounds, pipeline, reflection, submissions, signIns, findClient, host, port, door = 'gRPC' } = options
  let open: OpenServices | undefined
  const guarded = await startGuardedServer({
    ...options,
    addServices(server, admitted) {
      const names = services.map(({ service }) => service)
      const openServices = addOpenServices(server, names, {
        reflection,
        maxBytes: bounds.maxOpenRequestBytes,
        submissions,
        signIns,
        findClient,
      })
      open = openServices
      const routes = new Map(services.flatMap((service) => [...addService(server, service, { bounds, admitted })]))
      return (path) => routes.get(path) ?? openServices.findRoute(path)
    },
    readRequestId,
    toStatus: (error, requestId) =>
      toStatus(error instanceof MediagenError ? toConnectError(error, requestId) : ConnectError.from(error), requestId),
    noteOpen: (call, status) => noteOpen(pipeline, call, status),
    report(code, { path, ...facts }) {
      pipeline.metrics.countGrpcRefusal(code)
      pipeline.logUnauthenticated(
        { code, ...(path !== undefined && { path: cutText(path) }), ...facts },
        'gRPC refused',
      )
    },
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === undefined ? error : toListenError(door, host, port, error)
  })
  return { ...guarded, drain: () => open?.drain() }
}

/** Calls of services that need no key are logged and counted as the pipeline does it for all others. */
function noteOpen(
  { metrics, logUnauthenticated }: PipelineDeps,
  { route: { rpc }, head, beganAtMs }: HeldCall,
  { code, details }: Pick<grpc.StatusObject, 'code' | 'details'>,
): void {
  const ms = performance.now() - beganAtMs
  const name = grpc.status[code].toLowerCase()
  metrics.countCalls(rpc)(name, ms / 1000)
  if (code !== grpc.status.OK)
    logUnauthenticated(
      { rpc, request_id: head.requestId, ms: Math.round(ms), code: name, detail: details },
      'call refused',
    )
}
