// What happens to every call, whichever door it came through: who are you, may you, is it too much, run, log, count, turn errors.
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
import { Permission as PermissionCode, permission as permissionOption } from '../../gen/mediagen/v1/options_pb.ts'
import { MediagenError } from '../core/errors.ts'
import type { ApiKey, Permission } from '../core/key.ts'
import { callerKey } from '../services/caller.ts'
import { toPermission } from '../services/convert.ts'
import type { Access } from './access.ts'
import { toConnectError, toMediagenError } from './errors.ts'
import type { Metrics } from './metrics.ts'

/** What the pipeline wants to know of a call's header; the door that the call came through has read it. */
export interface CallHead {
  /** As it was sent; null when nothing was. */
  readonly authorization: string | null
  /** Under which the call is logged. The door answers with it. */
  readonly requestId: string
}

/** A unary rpc behind the pipeline. */
export type UnaryCall = (
  request: MessageShape<DescMessage>,
  context: HandlerContext,
  head: CallHead,
) => Promise<MessageInitShape<DescMessage>>
/** A server-streaming rpc behind the pipeline. */
export type StreamCall = (
  request: MessageShape<DescMessage>,
  context: HandlerContext,
  head: CallHead,
) => AsyncIterable<MessageInitShape<DescMessage>>
/** A client-streaming rpc behind the pipeline. What comes is read as fast as it is used, and no faster. */
export type UploadCall = (
  requests: AsyncIterable<MessageShape<DescMessage>>,
  context: HandlerContext,
  head: CallHead,
) => Promise<MessageInitShape<DescMessage>>

/** A service behind the pipeline: what every door serves. */
export interface GuardedService {
  readonly service: DescService
  readonly unary: ReadonlyMap<DescMethod, UnaryCall>
  readonly streams: ReadonlyMap<DescMethod, StreamCall>
  readonly uploads: ReadonlyMap<DescMethod, UploadCall>
}

/** What the pipeline needs. */
export interface PipelineParts {
  readonly access: Access
  readonly metrics: Metrics
  readonly log: Logger
}

/**
 * Puts a service behind the pipeline.
 * @throws Error when an rpc names no permission: such a service must not start.
 */
export function guardService<Service extends DescService>(
  service: Service,
  impl: ServiceImpl<Service>,
  parts: PipelineParts,
): GuardedService {
  const unary = new Map<DescMethod, UnaryCall>()
  const streams = new Map<DescMethod, StreamCall>()
  const uploads = new Map<DescMethod, UploadCall>()
  for (const method of service.methods) {
    const call = createCallGuard(method, parts)
    const run = (impl as Record<string, (request: never, context: HandlerContext) => unknown>)[method.localName]
    if (!run) throw new Error(`${service.typeName}.${method.name} is not implemented`)
    if (method.methodKind === 'unary') unary.set(method, guardUnary(call, run.bind(impl) as Served<UnaryCall>))
    else if (method.methodKind === 'server_streaming')
      streams.set(method, guardStream(call, run.bind(impl) as Served<StreamCall>))
    else if (method.methodKind === 'client_streaming')
      uploads.set(method, guardUpload(call, run.bind(impl) as Served<UploadCall>))
    else throw new Error(`${service.typeName}.${method.name}: no door serves ${method.methodKind} rpcs`)
  }
  return { service, unary, streams, uploads }
}

/** A service for whoever has the database in hand anyway, the command line: no key is asked for, errors are turned all the same. */
export function trustService<Service extends DescService>(
  service: Service,
  impl: ServiceImpl<Service>,
): GuardedService {
  const unary = new Map<DescMethod, UnaryCall>()
  for (const method of service.methods) {
    const run = (impl as unknown as Record<string, Served<UnaryCall>>)[method.localName]
    if (method.methodKind !== 'unary' || !run) continue
    unary.set(method, async (request, context) => {
      try {
        return await run.call(impl, request, context)
      } catch (thrown) {
        throw toConnectError(toMediagenError(thrown), '')
      }
    })
  }
  return { service, unary, streams: new Map(), uploads: new Map() }
}

/** An rpc as its service implements it, which knows nothing of headers. */
export type Served<Rpc extends UnaryCall | StreamCall | UploadCall> = (
  request: Parameters<Rpc>[0],
  context: HandlerContext,
) => ReturnType<Rpc>

function guardUnary<Request>(
  guard: CallGuard,
  run: (request: Request, context: HandlerContext) => ReturnType<UnaryCall>,
): (request: Request, context: HandlerContext, head: CallHead) => ReturnType<UnaryCall> {
  return async (request, context, head) => {
    const call = guard.begin(head)
    try {
      await guard.admit(call, context)
      const response = await run(request, context)
      guard.succeed(call)
      return response
    } catch (thrown) {
      throw guard.fail(call, thrown)
    }
  }
}

function guardUpload(guard: CallGuard, run: Served<UploadCall>): UploadCall {
  return guardUnary<Parameters<UploadCall>[0]>(guard, (requests, context) => run(blameCaller(requests), context))
}

/** What breaks on its way in is no fault of this server. */
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

function guardStream(guard: CallGuard, run: Served<StreamCall>): StreamCall {
  return (request, context, head) => {
    const call = guard.begin(head)
    return (async function* () {
      try {
        await guard.admit(call, context)
        yield* run(request, context)
        guard.succeed(call)
      } catch (thrown) {
        throw guard.fail(call, thrown)
      }
    })()
  }
}

interface Call {
  readonly head: CallHead
  readonly startedAt: number
  caller: ApiKey | null
}

interface CallGuard {
  begin(head: CallHead): Call
  admit(call: Call, context: HandlerContext): Promise<void>
  /** Logs and counts. */
  succeed(call: Call): void
  /** Logs and counts; returns the error as it is to travel. */
  fail(call: Call, thrown: unknown): Error
}

function createCallGuard(method: DescMethod, parts: PipelineParts): CallGuard {
  const { access, metrics, log } = parts
  const permission = readPermission(method)
  const rpc = `${method.parent.name}.${method.name}`

  function toLine({ head, caller }: Call, ms: number) {
    return {
      rpc,
      request_id: head.requestId,
      ms: Math.round(ms * 100) / 100,
      ...(caller && { key_id: caller.keyId, account_id: caller.accountId }),
    }
  }

  return {
    begin: (head) => ({ head, startedAt: performance.now(), caller: null }),
    async admit(call, context) {
      const key = await access.authenticate(call.head.authorization)
      call.caller = key
      if (permission) access.authorize(key, permission)
      access.limit(key)
      context.values.set(callerKey, key)
    },
    succeed(call) {
      const ms = performance.now() - call.startedAt
      metrics.countCall(rpc, 'ok', ms / 1000)
      if (log.isLevelEnabled('debug')) log.debug(toLine(call, ms), 'call')
    },
    fail(call, thrown) {
      const ms = performance.now() - call.startedAt
      const line = toLine(call, ms)
      const error = toMediagenError(thrown)
      metrics.countCall(rpc, error.code, ms / 1000)
      if (error.code === 'internal' || error.code === 'storage_unavailable')
        log.error({ ...line, code: error.code, err: error.cause }, 'call failed')
      else log.info({ ...line, code: error.code, detail: error.message }, 'call refused')
      return toConnectError(error, call.head.requestId)
    },
  }
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
