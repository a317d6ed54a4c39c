// Checks the key of a caller as soon as the head of the request has arrived, before its body is read.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ApiKey, Permission } from '../core/accounts/key.ts'
import { MediagenError } from '../core/errors.ts'

/** The caller, identified by its key. */
export type Caller = Pick<ApiKey, 'keyId' | 'accountId' | 'permissions'>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Permission that the route needs, as REST writes it; `any` for any valid key; unset for open routes. */
    permission?: RoutePermission
    /** Whether the handler reads the body itself, whatever its content type. */
    readsBody?: true
    /** The status in place of 409, for clients that repeat a request on that. */
    conflictStatus?: 422
  }
  interface FastifyRequest {
    /** Null until the key was checked, and on routes without a permission. */
    caller: Caller | null
  }
}

/** Permissions of REST routes. */
export type RoutePermission = 'any' | Exclude<Permission, 'admin'>

/** What the gateway asks about keys. */
export interface Keys {
  /**
   * Finds the owner of the key in an `Authorization` header.
   * @throws MediagenError or ConnectError: `authentication_required`, `invalid_api_key`, `rate_limited`
   */
  authenticate(sent: { authorization: string | null; address: string; requestId: string }): Promise<Caller>
  /**
   * Counts a request that no service will see toward the rate of its key; services count the others.
   * @throws MediagenError `rate_limited`
   */
  limit(caller: Caller): Promise<void>
  /**
   * Counts the bytes of a body toward the rate of its key, before it is parsed.
   * @throws MediagenError `rate_limited`
   */
  spend(caller: Caller, bytes: number): Promise<void>
}

// A checked caller is cached for at most this long. That is safe, because the core checks the key of each call again.
const cacheMs = 1000
const mostCached = 1000

/** Checks the callers of all routes with a permission that are added from here on, before any of their own hooks. */
export function checkCallers(app: FastifyInstance, keys: Keys): void {
  // Cleared as a whole: checking the age of each entry would cost time in each request.
  const cache = new Map<string, Caller>()
  let clearing: NodeJS.Timeout | undefined

  function clear(): void {
    clearing = undefined
    cache.clear()
  }

  function keep(authorization: string, caller: Caller): void {
    if (cache.size >= mostCached) cache.clear()
    cache.set(authorization, caller)
    clearing ??= setTimeout(clear, cacheMs).unref()
  }

  async function authenticate(request: FastifyRequest): Promise<Caller> {
    const { authorization = null } = request.headers
    const caller = await keys.authenticate({ authorization, address: request.client, requestId: request.id })
    if (authorization !== null) keep(authorization, caller)
    return caller
  }

  app.addHook('onRoute', (route) => {
    const permission = route.config?.permission
    if (permission === undefined) return
    const check = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
      const { authorization } = request.headers
      const known = authorization === undefined ? undefined : cache.get(authorization)
      if (known !== undefined) return done(admit(request, known, permission))
      authenticate(request).then((caller) => done(admit(request, caller, permission)), done)
    }
    route.onRequest = [check, ...[route.onRequest ?? []].flat()]
  })
}

/** Records the caller; returns the refusal if it may not call this route. */
function admit(request: FastifyRequest, caller: Caller, permission: RoutePermission): MediagenError | undefined {
  request.caller = caller
  if (permission === 'any' || caller.permissions.includes(permission)) return undefined
  return new MediagenError('missing_permission', `The API key lacks the permission ${permission}.`, { permission })
}
