// Everything that listens: the public HTTP and gRPC ports, and those of operators.
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../../config.ts'
import type { MediagenError } from '../../core/errors.ts'
import type { Traces } from '../../core/traces.ts'
import { addAdminConsole } from '../../gateway/console.ts'
import type { Health } from '../../gateway/routes/health.ts'
import { createHealthServer, listen, type ServerDeps } from '../../gateway/server.ts'
import { addSignIn } from '../../gateway/sign-in/sign-in.ts'
import { createFindClient } from '../../guards/client-address.ts'
import type { UnauthenticatedLog } from '../../guards/unauthenticated-log.ts'
import { addConnect } from '../../rpc/connect/connect.ts'
import { toConnectJson } from '../../rpc/errors.ts'
import { type GrpcServer, type GrpcServerOptions, startGrpcServer } from '../../rpc/grpc/grpc-server.ts'
import type { Metrics } from '../observe/metrics.ts'
import { toConnectionBounds, toGrpcBounds } from './door-bounds.ts'
import type { Grace } from './grace.ts'
import { readFileLimit, shareFiles } from './open-files.ts'
import { overloaded, startShedder } from './overload.ts'
import { createPublicServer, locateAdmin, type PublicDeps, toPublicServices } from './public-server.ts'
import { openRounds } from './rounds.ts'
import { followsCaller, toUrl } from './urls.ts'

/** What the doors need. */
export interface DoorDeps extends PublicDeps {
  readonly log: Logger
  readonly traces: Traces
  /** Where refusals of callers without a valid key go. */
  readonly logUnauthenticated: UnauthenticatedLog
  readonly metrics: Metrics
  readonly unready: Health['unready']
  readonly grace: Grace
  /** Called with the address under which clients reach the HTTP port, before the first request. */
  readonly onPublicUrl: (url: string) => void
}

/** Where a server listens. */
export interface Addresses {
  readonly httpUrl: string
  /** Null for a pure gateway and a pure worker. */
  readonly grpcUrl: string | null
  /** Address of the operators' HTTP port; null when they have none of their own. */
  readonly adminUrl: string | null
  /** Address of the operators' gRPC port; null when they have none of their own. */
  readonly adminGrpcUrl: string | null
}

/** Doors that are open. Disposed of, they wait for calls under way as long as the grace lasts, then cut them. */
export interface Doors extends AsyncDisposable {
  readonly addresses: Addresses
  /** Tells health checks that this server is going away. */
  drain(): void
}

/**
 * Opens all doors.
 * @throws StartupError when a port cannot be had
 */
export async function openDoors(config: Config, deps: DoorDeps): Promise<Doors> {
  await using opened = new AsyncDisposableStack()
  const location = locateAdmin(config)
  const grpcServers: GrpcServer[] = []
  const shedder = startShedder(config, deps, opened.use(openRounds()))
  const refusal = overloaded(config.maxQueueMs)
  const shed = (): MediagenError | null => (shedder.refuses() ? refusal : null)
  // Made by the first of many: an error of Connect loads Node's implementation of fetch.
  let connectBody: string | undefined
  const overload = {
    refuses: shedder.refuses,
    noteExempt: shedder.noteExempt,
    refusal,
    connectBody: () => (connectBody ??= toConnectJson(refusal)),
  }
  let publicUrl = ''
  const files = shareFiles(readFileLimit())
  if (files.connections < config.maxConnections)
    deps.log.warn(
      { connections: files.connections },
      'this process may open too few files for MEDIAGEN_MAX_CONNECTIONS (ulimit -n): it takes fewer connections',
    )
  const server: ServerDeps = {
    health: { unready: deps.unready, metrics: deps.metrics.render },
    publicUrl: (host) => (host !== undefined && followsCaller(config) ? `http://${host}` : publicUrl),
    maxBodyBytes: config.maxBodyBytes,
    connections: toConnectionBounds(config, files, deps.grace),
    findClient: createFindClient(config.trustedProxies),
    log: deps.log,
    traces: deps.traces,
    logUnauthenticated: deps.logUnauthenticated,
    maxValues: config.maxValues,
    maxViolations: config.maxViolations,
    countRefusal: deps.metrics.countRefusal,
    countCut: deps.metrics.countCut,
  }

  async function openHttp(app: FastifyInstance, host: string, port: number, door?: 'admin HTTP'): Promise<string> {
    opened.defer(() => app.close())
    return toUrl(host, await listen(app, host, port, door))
  }
  async function openGrpc(
    { services, pipeline }: NonNullable<DoorDeps['rpc']>,
    options: Pick<GrpcServerOptions, 'host' | 'port' | 'reflection' | 'door' | 'shed'>,
  ): Promise<string> {
    const { findClient } = server
    const grpc = await startGrpcServer(services, {
      ...options,
      findClient,
      submissions: deps.submissions,
      signIns: deps.signIns,
      bounds: toGrpcBounds(config, files),
      pipeline,
    })
    opened.defer(() => grpc.close(deps.grace()))
    grpcServers.push(grpc)
    return toUrl(options.host, grpc.port)
  }

  const { host, adminHost, adminPort, adminGrpcPort } = config
  const { rpc } = deps
  const publicRpc = rpc && { ...rpc, services: toPublicServices(rpc.services, location) }
  const httpUrl = await openHttp(
    createPublicServer(config, deps, { ...server, overload }, location, files),
    host,
    config.httpPort,
  )
  publicUrl = config.publicUrl ?? httpUrl
  deps.onPublicUrl(publicUrl)
  if (followsCaller(config))
    deps.log.warn(
      { host, url: httpUrl },
      'MEDIAGEN_PUBLIC_URL is not set: URLs begin with the host of each request, and with this url in webhooks and over gRPC',
    )
  const grpcUrl =
    publicRpc &&
    (await openGrpc(publicRpc, { host, port: config.grpcPort, reflection: location === 'public', door: 'gRPC', shed }))
  const adminUrl =
    adminPort === null
      ? null
      : await openHttp(
          createHealthServer(server, (app) => {
            if (!rpc) return
            const publicUrl = (asked = ''): string => config.adminUrl ?? `http://${asked}`
            addSignIn(app, { signIns: deps.signIns, publicUrl, backTo: '/admin' })
            addConnect(app, rpc.services, config)
            addAdminConsole(app)
          }),
          adminHost,
          adminPort,
          'admin HTTP',
        )
  const adminGrpcUrl =
    adminGrpcPort === null || rpc === null
      ? null
      : await openGrpc(rpc, {
          host: adminHost,
          port: adminGrpcPort,
          reflection: true,
          door: 'admin gRPC',
          shed: () => null,
        })
  if (location === 'nowhere')
    deps.log.warn(
      { host },
      'AdminService, /metrics and reflection are off, because other machines can reach this server: set MEDIAGEN_ADMIN_PORT (HTTP) and MEDIAGEN_ADMIN_GRPC_PORT to serve them at MEDIAGEN_ADMIN_HOST',
    )
  const owned = opened.move()
  return {
    addresses: { httpUrl, grpcUrl, adminUrl, adminGrpcUrl },
    drain() {
      for (const grpc of grpcServers) grpc.drain()
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Says where the server is. */
export function logReady(log: Logger, addresses: Addresses, facts: object): void {
  const { httpUrl: http, grpcUrl: grpc, adminUrl: admin, adminGrpcUrl: adminGrpc } = addresses
  log.info({ http, grpc, ...(admin && { admin }), ...(adminGrpc && { admin_grpc: adminGrpc }), ...facts }, 'ready')
}
