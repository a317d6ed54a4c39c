// AdminService of a server elsewhere, over Connect, and what can go wrong on the way, in words.
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { AdminService } from '../../../../gen/mediagen/v1/admin_pb.ts'
import { ErrorDetailSchema } from '../../../../gen/mediagen/v1/errors_pb.ts'
import { StartupError, withoutCode } from '../../../core/errors.ts'
import { escapeHidden } from '../../../core/text/hidden-characters.ts'
import type { SourcedLogin } from '../../user/server.ts'
import { describeFileError } from '../../user/words.ts'
import type { Admin } from './installation.ts'

const usualTimeoutMs = 60_000
// They visit all data, or have a bound of their own.
const unbounded = new Set(['VerifyLedger', 'MeasureFiles', 'SweepFiles', 'CheckProviders'])

/** A client of AdminService at a server. */
export function createRemoteAdmin({ url: baseUrl, key }: SourcedLogin): Admin {
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: '1.1',
    defaultTimeoutMs: usualTimeoutMs,
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${key}`)
        return next(request)
      },
    ],
  })
  return createClient(AdminService, {
    ...transport,
    unary(method, signal, timeoutMs, ...others) {
      return transport.unary(method, signal, unbounded.has(method.name) ? 0 : timeoutMs, ...others)
    },
  })
}

/** Turns what a call of that client throws into a sentence. */
export async function explainRemote<Answer>(
  answer: Promise<Answer>,
  admin: Admin,
  login: SourcedLogin,
): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error
    throw new StartupError(await describe(error, admin, login), { cause: error })
  }
}

async function describe(error: ConnectError, admin: Admin, { url, key, source }: SourcedLogin): Promise<string> {
  const [detail] = error.findDetails(ErrorDetailSchema)
  const words = escapeHidden(withoutCode(error.rawMessage))
  const ofKey = `The key begins with ${key.slice(0, 8)} and comes from ${source}.`
  if (detail?.code === 'missing_permission')
    return `${words} ${ofKey} “mediagen admin keys create --permissions admin --local”, on the machine of the server, makes one that has it; --local works on this machine instead of ${url}.`
  if (error.code === Code.Unauthenticated) return `${words} ${ofKey}`
  // Our own refusals say all of it.
  if (detail) return words
  if (error.code === Code.Unimplemented) return describeMissing(admin, url)
  if (error.code === Code.DeadlineExceeded)
    return `${url} did not answer within ${usualTimeoutMs / 1000} s. Look whether it was done before you repeat it.`
  const reason = findSystemError(error)
  if (reason)
    return `${url} cannot be reached: ${describeFileError(reason)}. Is the server running? --local works on this machine instead.`
  return `${url} did not answer as a server of mediagen does: ${words}.`
}

/** Nothing is at the path of the call: no AdminService at all, or one that is older than the call. */
async function describeMissing(admin: Admin, url: string): Promise<string> {
  const isThere = await admin.listAccounts({ limit: 1 }).then(
    () => true,
    () => false,
  )
  return isThere
    ? `The server at ${url} is of an older version, which cannot do this. Nothing was changed.`
    : `There is no AdminService at ${url}: a server that other machines can reach has it on a port of its own. Set MEDIAGEN_ADMIN_PORT for the server, and give the address of that port with --url or MEDIAGEN_URL.`
}

/** The error of the operating system that is at the bottom of it. */
function findSystemError(error: unknown): NodeJS.ErrnoException | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ((at as NodeJS.ErrnoException).errno !== undefined) return at
    // Where several addresses were tried.
    if (at instanceof AggregateError && at.errors[0] instanceof Error) return at.errors[0]
  }
  return null
}
