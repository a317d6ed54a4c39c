// Everything that listens: the public HTTP and gRPC ports, and those of operators. A part of the composition root.
import type { Transport } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { AdminService } from '../gen/mediagen/v1/admin_pb.ts'
import type { Config } from './config.ts'
import type { MediagenError } from './core/errors.ts'
import { createShedder, overloaded, type Shedder } from './runtime/shedder.ts'
import type { StrangerLog } from './runtime/stranger-log.ts'
import type { Keys } from './gateway/access.ts'
import { addConsole } from './gateway/console.ts'
import type { Health } from './gateway/health.ts'
import { createGateway, createHealthServer, type GatewayParts, listen, type ServerParts } from './gateway/server.ts'
import type { ConnectionBounds } from './gateway/connections.ts'
import { createFindClient, toClientNetwork } from './net/client-address.ts'
import { isAmong, isLoopback } from './net/hosts.ts'
import { type FileShares, readFileLimit, shareFiles } from './net/open-files.ts'
import { addConnect } from './rpc/connect.ts'
import { toConnectJson } from './rpc/errors.ts'
import { type GrpcBounds, type GrpcServer, type GrpcServerOptions, startGrpcServer } from './rpc/grpc-server.ts'
import type { Metrics } from './rpc/metrics.ts'
import type { GuardedService, PipelineParts } from './rpc/pipeline.ts'

/** What the doors are made of, and what they lead to. */
export interface DoorParts {
  readonly log: Logger
  /** Where refusals of callers without a valid key go. */
  readonly strangers: StrangerLog
  readonly metrics: Metrics
  readonly unready: Health['unready']
  /** To the services, for REST; null in a pure worker, which serves none. */
  readonly transport: Transport | null
  /** Who calls, for REST. */
  readonly keys: Keys
  /** What gRPC, Connect and gRPC-Web serve; null in a pure worker and in front of a core elsewhere. */
  readonly rpc: { readonly services: readonly GuardedService[]; readonly pipeline: PipelineParts } | null
  /** Unset where files are not served. */
  readonly assets?: NonNullable<GatewayParts['assets']>
  /** Told the address under which clients reach the HTTP port, before any request comes. */
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

/** Doors that are open. Disposed of, they wait for calls under way as long as the settings say, then cut them. */
export interface Doors extends AsyncDisposable {
  readonly addresses: Addresses
  /** Tells health checks that this server is going away. */
  drain(): void
}

/**
 * Where AdminService, `/metrics` and reflection are: on the public ports while only this machine reaches those, at an address
 * of their own when the settings name one, else nowhere.
 */
type AdminPlace = 'public' | 'own' | 'nowhere'

/**
 * Opens all doors.
 * @throws StartupError when a port cannot be had
 */
export async function openDoors(config: Config, parts: DoorParts): Promise<Doors> {
  await using opened = new AsyncDisposableStack()
  const place = placeAdmin(config)
  const grpcServers: GrpcServer[] = []
  const shedder = startShedder(config, parts)
  const refusal = overloaded(config.maxQueueMs)
  const shed = (): MediagenError | null => (shedder.refuses() ? refusal : null)
  const overload = { refuses: shedder.refuses, refusal, connectBody: toConnectJson(refusal) }
  let publicUrl = ''
  const files = shareFiles(readFileLimit())
  if (files.connections < config.maxConnections)
    parts.log.warn(
      { connections: files.connections },
      'this process may open too few files for MEDIAGEN_MAX_CONNECTIONS (ulimit -n): it takes fewer connections',
    )
  const server: ServerParts = {
    health: { unready: parts.unready, metrics: parts.metrics.render },
    publicUrl: () => publicUrl,
    maxBodyBytes: config.maxBodyBytes,
    connections: toConnectionBounds(config, files),
    findClient: createFindClient(config.trustedProxies),
    log: parts.log,
    strangers: parts.strangers,
    maxValues: config.maxValues,
    maxViolations: config.maxViolations,
    countRefusal: parts.metrics.countRefusal,
    countCut: parts.metrics.countCut,
  }

  async function openHttp(app: FastifyInstance, host: string, port: number, door?: 'admin HTTP'): Promise<string> {
    opened.defer(() => app.close())
    return toUrl(host, await listen(app, host, port, door))
  }
  async function openGrpc(
    { services, pipeline }: NonNullable<DoorParts['rpc']>,
    options: Pick<GrpcServerOptions, 'host' | 'port' | 'reflection' | 'door' | 'shed'>,
  ): Promise<string> {
    const { findClient } = server
    const grpc = await startGrpcServer(services, {
      ...options,
      findClient,
      bounds: toGrpcBounds(config, files),
      pipeline,
    })
    opened.defer(() => grpc.close(config.stopGraceSeconds * 1000))
    grpcServers.push(grpc)
    return toUrl(options.host, grpc.port)
  }

  const { host, adminHost, adminPort, adminGrpcPort } = config
  const { rpc } = parts
  const publicRpc = rpc && { ...rpc, services: toPublicServices(rpc.services, place) }
  const httpUrl = await openHttp(
    createPublicServer(config, parts, { ...server, overload }, place, files),
    host,
    config.httpPort,
  )
  publicUrl = config.publicUrl ?? httpUrl
  parts.onPublicUrl(publicUrl)
  const grpcUrl =
    publicRpc &&
    (await openGrpc(publicRpc, { host, port: config.grpcPort, reflection: place === 'public', door: 'gRPC', shed }))
  const adminUrl =
    adminPort === null
      ? null
      : await openHttp(
          createHealthServer(server, (app) => rpc && addConnect(app, rpc.services, config)),
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
  if (place === 'nowhere')
    parts.log.warn(
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

/** The server of the public HTTP port. */
function createPublicServer(
  config: Config,
  parts: DoorParts,
  server: ServerParts & Pick<GatewayParts, 'overload'>,
  place: AdminPlace,
  files: FileShares,
): FastifyInstance {
  const health = place === 'public' ? server.health : { ...server.health, metrics: null }
  const { transport, keys, rpc, assets } = parts
  if (transport === null) return createHealthServer({ ...server, health })
  return createGateway({
    ...server,
    health,
    transport,
    keys,
    maxUploadBytes: config.maxUploadBytes,
    ...(assets && { assets }),
    downloads: {
      inAll: Math.min(config.maxDownloads, files.downloads),
      perOwner: config.maxDownloadsPerAddress,
    },
    extend(app) {
      if (rpc) addConnect(app, toPublicServices(rpc.services, place), config)
      addConsole(app, config.maxUploadBytes)
    },
  })
}

function toConnectionBounds(config: Config, files: FileShares): ConnectionBounds {
  const { trustedProxies } = config
  return {
    maxConnections: Math.min(config.maxConnections, files.connections),
    maxPerClient: config.maxConnectionsPerAddress,
    maxPipelined: config.maxPipelined,
    maxUnreadBytes: config.maxUnreadBytes,
    maxUnreadTotalBytes: config.maxUnreadTotalBytes,
    windowMs: config.stallSeconds * 1000,
    toClient: (address) => (isAmong(trustedProxies, address) ? null : toClientNetwork(address)),
  }
}

function readThreadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** What refuses requests while this process is behind; the log says when it begins and ends. */
function startShedder({ maxQueueMs }: Config, { log, metrics }: DoorParts): Shedder {
  const shedder = createShedder({
    maxQueueMs,
    nowMs: () => performance.now(),
    cpuMs: readThreadCpuMs,
    atEndOfRound: setImmediate,
    onBegin: () => log.warn({ max_queue_ms: maxQueueMs }, 'overloaded: requests wait too long, and some are refused'),
    onEnd: (refused) => log.warn({ refused }, 'no longer overloaded'),
  })
  metrics.showCounter('mediagen_shed_total', 'Requests that were refused because the server was behind', shedder.shed)
  metrics.showGauge(
    'mediagen_queue_delay_seconds',
    'How long requests wait before they are looked at',
    () => shedder.delayMs() / 1000,
  )
  return shedder
}

function placeAdmin({ host, adminPort, adminGrpcPort }: Config): AdminPlace {
  if (adminPort !== null || adminGrpcPort !== null) return 'own'
  return isLoopback(host) ? 'public' : 'nowhere'
}

function toPublicServices(services: readonly GuardedService[], place: AdminPlace): readonly GuardedService[] {
  return place === 'public' ? services : services.filter(({ service }) => service !== AdminService)
}

function toGrpcBounds(config: Config, files: FileShares): GrpcBounds {
  return {
    maxBodyBytes: config.maxBodyBytes,
    maxValues: config.maxValues,
    stallMs: config.stallSeconds * 1000,
    maxConnections: Math.min(config.maxGrpcConnections, files.grpcConnections),
    maxConnectionsPerAddress: config.maxGrpcConnectionsPerAddress,
    maxStreams: config.maxStreams,
    maxKeylessStreams: config.maxKeylessStreams,
    keylessMs: config.keylessSeconds * 1000,
    maxKeylessBytes: config.maxKeylessBytes,
    maxResets: config.maxResets,
    maxKeylessCalls: config.maxKeylessCalls,
    maxBytes: config.maxGrpcBytes,
    maxConnectionBytes: config.maxGrpcConnectionBytes,
    maxOpenRequestBytes: config.maxOpenRequestBytes,
  }
}

function toUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
