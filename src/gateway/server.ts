// The HTTP server: the exact /v1 routes as a client of the services, and whatever else is served on its port.
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { ConnectError, type Transport } from '@connectrpc/connect'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { SignIns } from '../core/accounts/sign-in.ts'
import { MediagenError } from '../core/errors.ts'
import { type Door, toListenError } from '../core/listen-error.ts'
import type { Traces } from '../core/traces.ts'
import { boundViolations } from '../core/violations.ts'
import type { FindClient } from '../guards/client-address.ts'
import type { LabelHeader } from '../guards/label-headers.ts'
import { readRequestId } from '../guards/request-id.ts'
import type { SlotBounds } from '../guards/slots.ts'
import type { UnauthenticatedLog } from '../guards/unauthenticated-log.ts'
import { checkLengthsFast } from '../schema/lengths.ts'
import { type Caller, checkCallers, type Keys } from './access.ts'
import { type CoreClient, createCoreClient } from './core-client.ts'
import { handleInBatches } from './http/batches.ts'
import { nameClients } from './http/clients.ts'
import { Connection } from './http/connection.ts'
import { boundConnections, type ConnectionBounds, type Cut } from './http/connections.ts'
import { findHostProblem } from './http/host.ts'
import { lateSchemas } from './http/late-schemas.ts'
import { keepAliveMs, ProtectedResponse } from './http/protection.ts'
import { traceRequests } from './http/spans.ts'
import { bodyTooLarge, checkAnnouncedBody, explainRefusals, forgetEmptyBody, notJson } from './input.ts'
import { watchMethods } from './methods.ts'
import { collectOperations } from './openapi/route.ts'
import { allowOrigins, type Origins } from './origins.ts'
import { type Overload, shedRequests } from './overload.ts'
import { addProblemPages, asksForPage, sendMissingPage, sendProblemPage } from './problems/problem-pages.ts'
import { refuseConnection, sendProblem, toConnectionError, toMediagenError } from './problems/problem.ts'
import { createRefusalNotes } from './problems/refusals.ts'
import { nameParameters } from './query.ts'
import { addAccountRoutes } from './routes/account.ts'
import { addAssetRoutes, type ServedAssets } from './routes/assets.ts'
import { addBundleRoute } from './routes/bundle.ts'
import { addFileRoutes } from './routes/files.ts'
import { addGenerateRoutes } from './routes/generate.ts'
import { addHealthRoutes, type Health } from './routes/health.ts'
import { addJobRoutes } from './routes/jobs.ts'
import { addModelRoutes } from './routes/models.ts'
import { addQuoteRoutes } from './routes/quotes.ts'
import { addUsageRoute } from './routes/usage.ts'
import { addWalletRoutes } from './routes/wallet.ts'
import { addWebhookRoutes } from './routes/webhooks.ts'
import { addSignIn } from './sign-in/sign-in.ts'

const longestPath = 65_536
// A request that is refused with one of these before a service sees it counts toward the rate of its key here.
const countedHere: ReadonlySet<string> = new Set([
  'invalid_request',
  'unsupported_media_type',
  'payload_too_large',
  'rate_limited',
])

/** What every server needs. */
export interface ServerDeps {
  readonly health: Health
  /** Address under which clients reach this server, for a request to this `Host`; known only when the server listens. */
  readonly publicUrl: (host?: string) => string
  readonly maxBodyBytes: number
  readonly connections: ConnectionBounds
  /** Finds the client behind a connection. */
  readonly findClient: FindClient
  readonly log: Logger
  readonly traces: Traces
  /** Where refusals of callers without a valid key go. */
  readonly logUnauthenticated: UnauthenticatedLog
  /** Maximum number of values in a body. */
  readonly maxValues: number
  /** Maximum number of violations in an answer. */
  readonly maxViolations: number
  /** Counts a refusal by the gateway itself. */
  readonly countRefusal: (code: string) => void
  /** Counts a connection that was not served or cut off. */
  readonly countCut: (cut: Cut) => void
}

/** What the routes of the REST interface need. */
export interface RouteDeps extends Pick<ServerDeps, 'health' | 'publicUrl'> {
  readonly transport: Transport
  /** Headers that become labels of starts. */
  readonly labelHeaders: readonly LabelHeader[]
  /** Maximum size of an upload, in bytes. */
  readonly maxUploadBytes: number
  /** Unset in front of a core elsewhere, which serves its files itself. */
  readonly assets?: ServedAssets
  /** Maximum number of concurrent downloads. */
  readonly downloads: SlotBounds
  /** Adds the doors of other interfaces, clients of the same services. */
  readonly addDoors: (app: FastifyInstance, core: CoreClient, stopping: AbortSignal) => void
}

/** What a server of the REST interface needs. */
export interface GatewayDeps extends ServerDeps, RouteDeps {
  readonly overload: Overload
  readonly keys: Keys
  /** People who sign in. */
  readonly signIns: SignIns
  /** Websites whose scripts may use this server from a browser; empty for its own console only. */
  readonly origins: Origins
  /** Makes what answers `POST /mcp`. */
  readonly createMcp: (
    app: FastifyInstance,
    stopping: AbortSignal,
  ) => (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
  /** Adds whatever else is served on this port: Connect, the console. */
  readonly extend: (app: FastifyInstance) => void
}

/** Creates the server; it does not listen yet. */
export function createGateway(deps: GatewayDeps): FastifyInstance {
  const { app, stopping } = createServer(deps, deps)
  addSignIn(app, { signIns: deps.signIns, publicUrl: deps.publicUrl, backTo: '/' })
  checkCallers(app, deps.keys)
  addRoutes(app, deps, stopping)
  addMcpRoute(app, deps, stopping)
  deps.extend(app)
  return app
}

/** Each message counts as a request of its key, besides what its tool calls. */
function addMcpRoute(app: FastifyInstance, { createMcp, keys }: GatewayDeps, stopping: AbortSignal): void {
  const answer = createMcp(app, stopping)
  app.post('/mcp', { config: { permission: 'any' } }, async (request, reply) => {
    if (request.caller) await keys.limit(request.caller)
    return answer(request, reply)
  })
}

/** Adds the routes of the REST interface, the document that describes them among them. */
export function addRoutes(app: FastifyInstance, deps: RouteDeps, stopping: AbortSignal): void {
  const core = createCoreClient(deps.transport)
  const addOpenapiRoute = collectOperations(app, deps.publicUrl)
  addQuoteRoutes(app, core)
  addGenerateRoutes(app, core, stopping, deps.labelHeaders)
  addModelRoutes(app, core)
  addJobRoutes(app, core, stopping, deps.publicUrl)
  addBundleRoute(app, core)
  addWalletRoutes(app, core)
  addUsageRoute(app, core)
  addAccountRoutes(app, core)
  addWebhookRoutes(app, core)
  addFileRoutes(app, core, deps.maxUploadBytes)
  deps.addDoors(app, core, stopping)
  if (deps.assets) addAssetRoutes(app, deps.assets, deps.downloads)
  addHealthRoutes(app, deps.health)
  addProblemPages(app)
  addOpenapiRoute()
}

/**
 * Creates a server that reports its health: the one of a pure worker, and the one for operators.
 * @param extend adds what else is served on its port
 */
export function createHealthServer(
  deps: ServerDeps,
  extend: (app: FastifyInstance) => void = () => {},
): FastifyInstance {
  const { app } = createServer(deps)
  addHealthRoutes(app, deps.health)
  extend(app)
  return app
}

/** A server without routes: limits, request ids, and problems for whatever is thrown. */
function createServer(
  deps: ServerDeps,
  { keys, overload, origins }: Partial<Pick<GatewayDeps, 'keys' | 'overload' | 'origins'>> = {},
): { app: FastifyInstance; stopping: AbortSignal } {
  const note = createRefusalNotes(deps)
  const app = Fastify({
    http: {
      ServerResponse: ProtectedResponse,
      // A request without a Host gets our own error.
      requireHostHeader: false,
    },
    bodyLimit: deps.maxBodyBytes,
    // Bodies have bounds of their own (stalls.ts): a large file may take its time.
    requestTimeout: 0,
    // A wait of three minutes is silent; nothing on this side may end it.
    connectionTimeout: 0,
    // A path parameter that is too long is simply an unknown id; Node limits the path itself.
    routerOptions: { maxParamLength: longestPath },
    // Requests that arrive while the server stops are answered as usual; starts are refused with our own error.
    return503OnClosing: false,
    requestIdHeader: false,
    serverFactory: (handle, { http }) =>
      createHttpServer(http ?? {}, handleInBatches(overload ? shedRequests(handle, overload, deps.publicUrl) : handle)),
    genReqId: (request) => readRequestId(request.headers['x-request-id']),
    schemaController: lateSchemas,
    // Input is checked as it is: nothing is converted, completed or dropped on the way.
    ajv: {
      customOptions: {
        coerceTypes: false,
        useDefaults: false,
        removeAdditional: false,
        allErrors: true,
        verbose: true,
      },
      plugins: [checkLengthsFast],
    },
    clientErrorHandler: (thrown, socket) => {
      if (socket instanceof Connection) connections.refuse(thrown, socket)
    },
    frameworkErrors: (error, request, reply) => {
      const refusal = toMediagenError(error)
      note.request(request, refusal)
      nameRequest(request, reply)
      void sendProblem(request, reply, refusal, deps.publicUrl(request.headers.host))
    },
  })
  if (origins && origins.size > 0) allowOrigins(app, origins)
  nameClients(app, deps.findClient)
  // Answers say so; connections.ts closes the connections that are idle.
  app.server.keepAliveTimeout = keepAliveMs
  // By itself Node would ask for the body at once, also from a caller without a valid key.
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response))
  const connections = boundConnections(app, deps.connections, {
    refuse(thrown, connection) {
      const error = toConnectionError(thrown)
      if (connection.writable) note.connection(error, connection)
      refuseConnection(error, connection, deps.publicUrl(), connection.unfinished?.url)
    },
    note(cut, { remoteAddress }) {
      deps.countCut(cut)
      deps.logUnauthenticated({ code: cut, address: remoteAddress }, 'connection cut off')
    },
  })
  addBodyParsers(app, deps.maxValues, keys)
  app.decorateRequest('caller', null)
  traceRequests(app, deps.traces)
  const refuse = watchMethods(app, longestPath)
  // A page is for where what it loads is served.
  const hasPages = (): boolean => app.hasRoute({ method: 'GET', url: '/console/:name' })
  app.addHook('onRequest', (request, reply, done) => {
    nameRequest(request, reply)
    // Before the body is read: it does not matter here.
    done(findHostProblem(request, reply) ?? (request.is404 ? refuse(request, reply) : undefined))
  })
  // After the key was checked, and before the body is read.
  app.addHook('preParsing', (request, reply, body, done) => {
    try {
      forgetEmptyBody(request)
      checkAnnouncedBody(request, reply)
      // `Expect: 100-continue` asks whether the body is wanted. Node itself refuses other expectations.
      if (request.headers.expect !== undefined) reply.raw.writeContinue()
      done(null, body)
    } catch (error) {
      done(error as Error)
    }
  })
  app.setErrorHandler(async (thrown, request, reply) => {
    let error = nameParameters(request, toMediagenError(thrown))
    if (error.code === 'payload_too_large' && !(thrown instanceof MediagenError) && !(thrown instanceof ConnectError))
      error = bodyTooLarge(deps.maxBodyBytes)
    // Fastify would close the connection while the client sends, which can destroy the answer before it is read.
    if (error.code === 'payload_too_large') reply.removeHeader('connection')
    if (request.caller && countedHere.has(error.code) && !(thrown instanceof ConnectError))
      error = await charge(request.caller, error, keys)
    if (!(thrown instanceof ConnectError)) error = boundViolations(error, deps.maxViolations)
    if (request.span) request.span.run(() => note.request(request, error))
    else note.request(request, error)
    const { backTo } = request.routeOptions.config
    if (backTo !== undefined) return sendProblemPage(request, reply, error, backTo)
    if (error.code === 'route_not_found' && hasPages() && asksForPage(request))
      return sendMissingPage(request, reply, error)
    return sendProblem(request, reply, error, deps.publicUrl(request.headers.host))
  })
  return { app, stopping: connections.stopping }
}

/** Accepts only JSON bodies, except on routes that read the body themselves. */
function addBodyParsers(app: FastifyInstance, maxValues: number, keys: Keys | undefined): void {
  app.removeContentTypeParser('text/plain')
  app.addContentTypeParser('*', (request, _body, done) =>
    done(request.routeOptions.config.readsBody ? null : notJson()),
  )
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    explainRefusals(app.getDefaultJsonParser('error', 'error'), maxValues, async (caller, bytes) =>
      keys?.spend(caller, bytes),
    ),
  )
}

/** Counts a refusal by the gateway toward the rate of its key; if the rate is exceeded, the caller gets that refusal. */
async function charge(caller: Caller, refusal: MediagenError, keys: Keys | undefined): Promise<MediagenError> {
  try {
    await keys?.limit(caller)
    return refusal
  } catch (error) {
    return toMediagenError(error)
  }
}

/**
 * Makes the server listen; returns its port.
 * @throws StartupError when the port cannot be opened
 */
export async function listen(app: FastifyInstance, host: string, port: number, door: Door = 'HTTP'): Promise<number> {
  await app.ready()
  const { listener } = app
  try {
    listener.listen({ host, port })
    await once(listener, 'listening')
  } catch (error) {
    throw toListenError(door, host, port, error as Error)
  }
  const address = listener.address()
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP address')
  return address.port
}

/** Sends the id of a request with its answer. */
function nameRequest({ id }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.setHeader('x-request-id', id)
}
