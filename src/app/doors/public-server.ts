// The server of the public HTTP port, and what of the operators' services it serves.
import type { Transport } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import { AdminService } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { Config } from '../../config.ts'
import type { SignIns } from '../../core/accounts/sign-in.ts'
import type { SubmissionNotifications } from '../../core/jobs/submission-url.ts'
import type { Keys } from '../../gateway/access.ts'
import { addAdminConsole, addConsole } from '../../gateway/console.ts'
import { addSubmissionRoute } from '../../gateway/routes/submissions.ts'
import { createGateway, createHealthServer, type GatewayDeps, type ServerDeps } from '../../gateway/server.ts'
import { createMcpRoute } from '../../mcp/route.ts'
import { createOutputOpener, createOutputReader } from '../../openai/outputs.ts'
import { addOpenaiRoutes } from '../../openai/routes.ts'
import { isLoopback } from '../../outgoing/hosts.ts'
import { addConnect } from '../../rpc/connect/connect.ts'
import type { PipelineDeps } from '../../rpc/pipeline.ts'
import type { GuardedService } from '../../services/calls/service.ts'
import { type FileShares } from './open-files.ts'

/** What the public HTTP port serves. */
export interface PublicDeps {
  /** To the services, for REST; null in a pure worker, which serves none. */
  readonly transport: Transport | null
  /** Who calls, for REST. */
  readonly keys: Keys
  /** What gRPC, Connect and gRPC-Web serve; null in a pure worker and in front of a core elsewhere. */
  readonly rpc: { readonly services: readonly GuardedService[]; readonly pipeline: PipelineDeps } | null
  /** Unset where files are not served. */
  readonly assets?: NonNullable<GatewayDeps['assets']>
  /** Reports of providers about submissions. */
  readonly submissions: SubmissionNotifications
  /** People who sign in. */
  readonly signIns: SignIns
}

/**
 * Where AdminService, `/metrics` and reflection are: on the public ports while only this machine reaches those, at an address
 * of their own when the settings name one, else nowhere.
 */
export type AdminLocation = 'public' | 'own' | 'nowhere'

/** Finds the place by the settings. */
export function locateAdmin({ host, adminPort, adminGrpcPort }: Config): AdminLocation {
  if (adminPort !== null || adminGrpcPort !== null) return 'own'
  return isLoopback(host) ? 'public' : 'nowhere'
}

/** What the public ports serve. */
export function toPublicServices(
  services: readonly GuardedService[],
  location: AdminLocation,
): readonly GuardedService[] {
  return location === 'public' ? services : services.filter(({ service }) => service !== AdminService)
}

/** The server of the public HTTP port. */
export function createPublicServer(
  config: Config,
  { transport, keys, rpc, assets, submissions, signIns }: PublicDeps,
  server: ServerDeps & Pick<GatewayDeps, 'overload'>,
  location: AdminLocation,
  files: FileShares,
): FastifyInstance {
  const health = location === 'public' ? server.health : { ...server.health, metrics: null }
  if (transport === null) return createHealthServer({ ...server, health })
  return createGateway({
    ...server,
    health,
    transport,
    keys,
    signIns,
    origins: config.corsOrigins,
    createMcp(app, stopping) {
      const report = (err: unknown): void => server.log.error({ err }, 'a tool of MCP failed')
      const { corsOrigins: origins, waitSeconds, labelHeaders } = config
      return createMcpRoute(app, { origins, waitSeconds, labelHeaders, report, publicUrl: server.publicUrl }, stopping)
    },
    labelHeaders: config.labelHeaders,
    maxUploadBytes: config.maxUploadBytes,
    ...(assets && { assets }),
    addDoors(app, core, stopping) {
      const openOutput = createOutputOpener(assets?.blobs)
      addOpenaiRoutes(app, {
        core,
        stopping,
        imageModel: config.openaiImageModel,
        editModel: config.openaiEditModel,
        speechModel: config.openaiSpeechModel,
        maxCredits: config.openaiMaxCredits,
        labelHeaders: config.labelHeaders,
        cancelOnDisconnect: config.openaiCancelOnDisconnect,
        formBounds: config,
        spend: keys.spend,
        openOutput,
        readOutput: createOutputReader(openOutput),
        nowMs: Date.now,
        report: (err, request_id) => server.log.error({ err, request_id }, 'a stream failed'),
      })
    },
    downloads: {
      inAll: Math.min(config.maxDownloads, files.downloads),
      perOwner: config.maxDownloadsPerAddress,
    },
    extend(app) {
      if (rpc) addConnect(app, toPublicServices(rpc.services, location), config)
      addConsole(app, config.maxUploadBytes, assets?.covers)
      if (rpc && location === 'public') addAdminConsole(app)
      addSubmissionRoute(app, submissions)
    },
  })
}
