// The caller of an rpc: the pipeline puts its key into the context, and the services read it.
import { createContextKey, type HandlerContext } from '@connectrpc/connect'
import type { Actor } from '../../core/accounts/audit.ts'
import type { ApiKey } from '../../core/accounts/key.ts'
import { MediagenError } from '../../core/errors.ts'

/** The context key under which the pipeline leaves the caller's API key. */
export const callerKey = createContextKey<ApiKey | null>(null, { description: 'API key of the caller' })

/** The API key of the caller, which the pipeline has checked. */
export function callerOf(context: HandlerContext): ApiKey {
  const key = context.values.get(callerKey)
  if (!key) throw new Error('a service was reached without the pipeline')
  return key
}

/**
 * Who acts, for the record.
 * @param osUser who calls without a key, where that is possible; null where the pipeline asks for one
 */
export function actorOf(context: HandlerContext, osUser: string | null): Actor {
  if (osUser !== null) return { kind: 'command_line', osUser }
  const { keyId, accountId } = callerOf(context)
  return { kind: 'key', keyId, accountId }
}

/** The refusal at the command line, which has the data of a server, and neither its models nor its feed. */
export function needsServer(): MediagenError {
  return new MediagenError(
    'invalid_request',
    'Only a running server knows this: ask one, with a key that has the permission admin.',
  )
}
