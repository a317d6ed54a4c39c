// The pipeline of every call, through any door: authenticate, authorize, rate-limit, run, log, count, convert errors.
import {
  type DescMessage,
  type DescMethod,
  type DescService,
  getOption,
  hasOption,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { Permission as PermissionCode, permission as permissionOption } from '../../gen/mediagen/v1/options_pb.ts'
import { QuotesService } from '../../gen/mediagen/v1/quotes_pb.ts'
import { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import type { ApiKey, Permission } from '../core/accounts/key.ts'
import { MediagenError } from '../core/errors.ts'
import { cutText } from '../core/text/log-text.ts'
import { noTraces, type Span, type Traces } from '../core/traces.ts'
import { boundViolations } from '../core/violations.ts'
import type { UnauthenticatedLog } from '../guards/unauthenticated-log.ts'
import { callerKey, callerOf } from '../services/calls/caller.ts'
import type {
  CallHead,
  Gate,
  GuardedService,
  Requests,
  SingleCall,
  Spend,
  StreamCall,
} from '../services/calls/service.ts'
import { toPermission } from '../services/messages/convert.ts'
import { createJobFinder, type FindJobId } from './call-job.ts'
import { toConnectError, toMediagenError } from './errors.ts'
import type { Access } from './keys/access.ts'
import { type FollowedCall, followKey, type KeyWatch } from './keys/key-watch.ts'

/** Where calls are counted. */
export interface CallMetrics {
  /** Returns what counts one finished call of an rpc: its outcome, `ok` or an error code, and its duration. */
  countCalls(rpc: string): (code: string, seconds: number) => void
  /** Counts one call or connection that the gRPC port refused or ended by itself. */
  countGrpcRefusal(reason: string): void
}

/** What the pipeline needs. */
export interface PipelineDeps {
  readonly access: Access
  readonly keys: KeyWatch
  readonly metrics: CallMetrics
  readonly log: Logger
  readonly traces: Traces
  /** Where refusals of callers without a valid key go. */
  readonly logUnauthenticated: UnauthenticatedLog
  /** Maximum number of violations in an answer. */
  readonly maxViolations: number
}

/**
 * Puts a service behind the pipeline.
 * @throws Error when an rpc names no permission: such a service must not start.
 */
export function guardService<Service extends DescService>(
  service: Service,
  impl: ServiceImpl<Service>,
  deps: PipelineDeps,
): GuardedService {
  return wrapService(service, impl, (method) => createKeyGuard(method, deps), deps.keys)
}

/** A service for the command line, which has the database itself: no key is required, and errors say what nobody logs. */
export function trustService<Service extends DescService>(
  service: Service,
  impl: ServiceImpl<Service>,
): GuardedService {
  const guard: CallGuard = {
    begin: (head) => ({ head, startedAt: 0, caller: null, span: noTraces.open('') }),
    async admit() {},
    open() {},
    async spend() {},
    succeed() {},
    fail: (_call, thrown) => toConnectError(withCause(toMediagenError(thrown)), ''),
  }
  return wrapService(service, impl, () => guard)
}

function withCause(error: MediagenError): MediagenError {
  const { code, message, details, cause } = error
  if (!(cause instanceof Error)) return error
  // A bug is in no log here. Any other error also says what to do, such as what to look at before a change is repeated.
  const words = code === 'internal' ? cause.message : `${message} The cause: ${cause.message}`
  return new MediagenError(code, words, details, { cause })
}

function wrapService(
  service: DescService,
  impl: object,
  createGuard: (method: DescMethod) => CallGuard,
  keys?: KeyWatch,
): GuardedService {
  const singles = new Map<DescMethod, SingleCall>()
  const streams = new Map<DescMethod, StreamCall>()
  const gates = new Map<DescMethod, Gate>()
  for (const method of service.methods) {
    const guard = createGuard(method)
    const findJobId = createJobFinder(method)
    gates.set(method, createGate(guard))
    const served = (impl as Record<string, ((...call: never[]) => unknown) | undefined>)[method.localName]
    if (!served) throw new Error(`${service.typeName}.${method.name} is not implemented`)
    const run = served.bind(impl) as Served<unknown>
    const { methodKind: kind } = method
    const read = kind === 'client_streaming' || kind === 'bidi_streaming' ? readAll : readOne
    if (kind === 'unary' || kind === 'client_streaming')
      singles.set(method, guardSingle(guard, read, waitWithKey(run, keys), findJobId))
    else streams.set(method, guardStream(guard, read, run as Served<AsyncIterable<Response>>, keys, findJobId))
  }
  return { service, singles, streams, gates }
}

type Request = MessageShape<DescMessage>
type Response = MessageInitShape<DescMessage>

/** Reads what an implementation takes: one request, or the stream of all. */
type Read = (requests: Requests, spend: Spend) => Promise<Request | AsyncIterable<Request>>

const readOne: Read = (requests, spend) => requests.one(spend)
const readAll: Read = async (requests) => blameCaller(requests.all())

/** An rpc as its service implements it, which ignores the head. */
type Served<Answer> = (request: Request | AsyncIterable<Request>, context: HandlerContext, head: CallHead) => Answer

function guardSingle(guard: CallGuard, read: Read, run: Served<Promise<Response>>, findJobId: FindJobId): SingleCall {
  return async (requests, context, head) => {
    const call = guard.begin(head)
    try {
      await guard.admit(call, context)
      guard.open(call)
      const request = await read(requests, (bytes) => guard.spend(call.caller, bytes))
      const response = await call.span.run(() => run(request, context, head))
      guard.succeed(call, findJobId(request, response))
      return response
    } catch (thrown) {
      throw guard.fail(call, thrown)
    } finally {
      call.span.end()
    }
  }
}

/** Ends the wait of a call when its key no longer works. The call then answers with the job as it is, because the job goes on. */
function waitWithKey(run: Served<unknown>, keys: KeyWatch | undefined): Served<Promise<Response>> {
  return async (request, context, head) => {
    const waits = (request as { wait?: boolean }).wait === true
    const followed = keys && waits && head.authorization !== null ? followKey(keys, head.authorization, context) : null
    try {
      return (await run(request, followed?.context ?? context, head)) as Response
    } finally {
      followed?.end()
    }
  }
}

/** Turns the error of a request that breaks off into one of the caller, since it is not a fault of this server. */
async function* blameCaller<Message>(requests: AsyncIterable<Message>): AsyncIterable<Message> {
  try {
    yield* requests
  } catch (thrown) {
    if (thrown instanceof MediagenError) throw thrown
    if (thrown instanceof ConnectError && thrown.code === Code.ResourceExhausted)
      throw new MediagenError(
        'payload_too_large',
        `A message is too large: ${thrown.rawMessage}.`,
        {},
        { cause: thrown },
      )
    throw new MediagenError('invalid_request', 'The request broke off before it was whole.', {}, { cause: thrown })
  }
}

/** Ends a stream when its key no longer works. */
function guardStream(
  guard: CallGuard,
  read: Read,
  run: Served<AsyncIterable<Response>>,
  keys: KeyWatch | undefined,
  findJobId: FindJobId,
): StreamCall {
  return (requests, context, head) => {
    const call = guard.begin(head)
    return (async function* () {
      let followed: FollowedCall | undefined
      try {
        await guard.admit(call, context)
        guard.open(call)
        const request = await read(requests, (bytes) => guard.spend(call.caller, bytes))
        if (keys && head.authorization !== null) followed = followKey(keys, head.authorization, context)
        yield* run(request, followed?.context ?? context, head)
        followed?.throwIfLost()
        guard.succeed(call, findJobId(request, null))
      } catch (thrown) {
        throw guard.fail(call, thrown)
      } finally {
        followed?.end()
        call.span.end()
      }
    })()
  }
}

function createGate(guard: CallGuard): Gate {
  return {
    async admit(context, head) {
      const call = guard.begin(head)
      try {
        await guard.admit(call, context)
        return callerOf(context)
      } catch (thrown) {
        throw guard.fail(call, thrown)
      }
    },
    spend: (head, bytes) => guard.spend(toKey(head), bytes),
    refuse: (head, thrown) => guard.fail(guard.begin(head), thrown),
  }
}

interface Call {
  readonly head: CallHead
  readonly startedAt: number
  caller: ApiKey | null
  span: Span
}

interface CallGuard {
  begin(head: CallHead): Call
  readonly admit: Admit
  /** Begins the span of a call whose caller is admitted: others leave no traces. Who calls this ends it. */
  open(call: Call): void
  spend(caller: ApiKey | null, bytes: number): ReturnType<Spend>
  /** Logs and counts. */
  succeed(call: Call, jobId: string | null): void
  /** Logs and counts; returns the error to send. */
  fail(call: Call, thrown: unknown): Error
}

/** Authenticates and authorizes the caller. */
type Admit = (call: Call, context: HandlerContext) => Promise<void>

function createKeyGuard(method: DescMethod, deps: PipelineDeps): CallGuard {
  const { access } = deps
  const permission = readPermission(method)
  const weight = weigh(method)

  return createCallGuard(method, deps, async (call, context) => {
    if (call.caller) return void context.values.set(callerKey, call.caller)
    const key = await access.authenticate(call.head)
    call.caller = key
    context.values.set(callerKey, key)
    checkOrigin(key, call.head.origin)
    if (permission) access.authorize(key, permission)
    if (weight > 0) await access.limit(key, weight)
  })
}

function createCallGuard(method: DescMethod, deps: PipelineDeps, admit: Admit): CallGuard {
  const { access, metrics, log, traces, logUnauthenticated, maxViolations } = deps
  const isLogged = !isBeforeCall(method)
  const rpc = `${method.parent.name}.${method.name}`
  const count = metrics.countCalls(rpc)

  function toLine({ head, caller }: Call, code: string, ms: number) {
    return {
      rpc,
      code,
      ms: Math.round(ms * 100) / 100,
      request_id: head.requestId,
      ...(caller && { key_id: caller.keyId, account_id: caller.accountId }),
    }
  }

  return {
    begin: (head) => ({ head, startedAt: performance.now(), caller: toKey(head), span: noTraces.open('') }),
    admit,
    open(call) {
      if (!isLogged || call.caller === null) return
      const { keyId, accountId } = call.caller
      call.span = traces.open(rpc, {
        kind: 'server',
        parent: call.head.trace ?? null,
        startMs: Date.now() - (performance.now() - call.startedAt),
        facts: {
          'mediagen.account.id': accountId,
          'mediagen.key.id': keyId,
          'mediagen.request.id': call.head.requestId,
        },
      })
    },
    async spend(caller, bytes) {
      if (caller) await access.spend(caller, bytes)
    },
    succeed(call, jobId) {
      const ms = performance.now() - call.startedAt
      count('ok', ms / 1000)
      if (jobId !== null) call.span.set({ 'mediagen.job.id': jobId })
      if (call.caller && isLogged)
        call.span.run(() => log.info({ ...toLine(call, 'ok', ms), ...(jobId !== null && { job_id: jobId }) }, 'call'))
    },
    fail(call, thrown) {
      const ms = performance.now() - call.startedAt
      const error = boundViolations(toMediagenError(thrown), maxViolations)
      const line = toLine(call, error.code, ms)
      count(error.code, ms / 1000)
      call.span.run(() => {
        if (error.code === 'internal' || error.code === 'storage_unavailable')
          log.error({ ...line, err: error.cause }, 'call failed')
        else if (call.caller) log.info({ ...line, detail: error.message }, 'call refused')
        else logUnauthenticated({ ...line, detail: error.message }, 'call refused')
      })
      // What the caller did wrong is no failure of this server.
      if (error.code === 'internal' || error.code === 'storage_unavailable') call.span.fail(error.code)
      else call.span.set({ 'error.type': error.code })
      return toConnectError(error, call.head.requestId)
    },
  }
}

/** How many requests a call counts as: a quote and the start that uses it count as one together. */
function weigh(method: DescMethod): number {
  if (isBeforeCall(method)) return 0
  return method === QuotesService.method.createQuote || method === GenerationService.method.startGeneration ? 0.5 : 1
}

/** Whether this is the question of a gateway about the caller, before the call itself. Only the call itself is counted. */
function isBeforeCall(method: DescMethod): boolean {
  return method === WalletService.method.getAccess
}

/** The permission that the proto names for an rpc; null when any key will do. */
function readPermission(method: DescMethod): Permission | null {
  const name = `${method.parent.typeName}.${method.name}`
  if (!hasOption(method, permissionOption)) throw new Error(`${name} names no permission`)
  const code = getOption(method, permissionOption)
  if (code === PermissionCode.ANY) return null
  const permission = toPermission(code)
  if (!permission) throw new Error(`${name} names no permission that a key can carry`)
  return permission
}

/**
 * Only a browser says truly which website calls; other programs say nothing, and are not kept out.
 * @throws MediagenError `origin_not_allowed`
 */
function checkOrigin({ limits, makerLimits, accountLimits }: ApiKey, origin: string | null | undefined): void {
  if (origin === null || origin === undefined) return
  for (const { origins } of [limits, makerLimits, accountLimits])
    if (origins.length > 0 && !origins.includes(origin))
      throw new MediagenError(
        'origin_not_allowed',
        `This API key may only be used by ${origins.join(', ')}, not by scripts of ${cutText(origin)}.`,
      )
}

/** The key that the gate admitted. */
function toKey({ admitted = null }: CallHead): ApiKey | null {
  return admitted as ApiKey | null
}
