// The way to AdminService: Connect with JSON, as the key of this session or as the signed-in browser.
import { Code, type Client, ConnectError, createClient, type Interceptor } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { Refused, Unreachable } from '@mediagen/client/errors.ts'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { explain, type Explanation } from '../refusal-words.ts'

/** AdminService. Calls fail with ConnectError; `toFailure` makes of it what notices show. */
export type Admin = Client<typeof AdminService>

const statuses: { readonly [code in Code]?: number } = {
  [Code.Unauthenticated]: 401,
  [Code.PermissionDenied]: 403,
  [Code.NotFound]: 404,
  [Code.Unavailable]: 503,
}

/**
 * Creates the client.
 * @param key null for none: then the browser's cookies say who calls
 * @param onRefused called when the server does not take the caller for an operator, before the call fails
 */
export function createAdmin(key: string | null, onRefused: (refused: Refused) => void = () => {}): Admin {
  const asCaller: Interceptor = (next) => async (request) => {
    if (key !== null) request.header.set('authorization', `Bearer ${key}`)
    try {
      return await next(request)
    } catch (error) {
      const failure = toFailure(error)
      if (isNoOperator(failure)) onRefused(failure)
      throw error
    }
  }
  return createClient(AdminService, createConnectTransport({ baseUrl: '', interceptors: [asCaller] }))
}

/** Rejects with `Refused` or `Unreachable` unless a key may administer. */
export async function checkOperator(key: string | null): Promise<void> {
  // A header can carry nothing else.
  if (key !== null && !/^[\u0021-\u007E]+$/.test(key))
    throw new Error('This is not an API key: it has characters that no key has.')
  try {
    await createAdmin(key).listAccounts({ limit: 1 })
  } catch (error) {
    throw toFailure(error)
  }
}

/** Whether a failure says that the caller is no operator. */
export function isNoOperator(failure: unknown): failure is Refused {
  return (
    failure instanceof Refused &&
    (failure.problem.status === 401 ||
      (failure.code === 'missing_permission' && failure.problem.permission === 'admin'))
  )
}

/** Whether a call failed because what it is about does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.NotFound
}

/** Whether a call failed because the page was left. */
export function isAborted(error: unknown): boolean {
  return error instanceof ConnectError ? error.code === Code.Canceled : (error as Error | null)?.name === 'AbortError'
}

/** The failure of a call as the console's notices know it. */
export function toFailure(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error
  const { code, rawMessage, metadata } = error
  const [detail] = error.findDetails(ErrorDetailSchema)
  if (!detail && error.cause instanceof TypeError) return new Unreachable('', error)
  const wait = Number(metadata.get('retry-after') ?? Number.NaN)
  return new Refused(
    {
      type: 'about:blank',
      title: 'The server refused this',
      status: statuses[code] ?? 400,
      detail: rawMessage.replace(/^[a-z_]+: /, ''),
      code: detail?.code ?? Code[code].toLowerCase(),
      retryable: detail?.retryable ?? false,
      request_id: detail?.requestId || (metadata.get('x-request-id') ?? ''),
      ...(detail?.permission !== undefined && { permission: detail.permission }),
    },
    Number.isFinite(wait) ? wait : null,
  )
}

// Whoever runs the server reads these as anybody does; the others have words for users, who know less.
const common: ReadonlySet<string> = new Set([
  'authentication_required',
  'invalid_api_key',
  'missing_permission',
  'rate_limited',
])

/** The words about a failure of a call. */
export function explainToOperator(error: unknown): Explanation {
  const failure = toFailure(error)
  if (!(failure instanceof Refused) || common.has(failure.code)) return explain(failure)
  const { status, detail } = failure.problem
  const titles: Readonly<Record<number, string>> = {
    403: 'This may not be done',
    404: 'It is not there',
    503: 'Not now',
  }
  return { title: titles[status] ?? 'The server refused this', detail }
}
