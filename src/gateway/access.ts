// Keeps the order of checks: whoever may not call a route learns that before learning what is wrong with the request.
import type { FastifyRequest } from 'fastify'
import { Permission as PermissionCode } from '../../gen/mediagen/v1/options_pb.ts'
import { MediagenError } from '../core/errors.ts'
import { type CoreClient, forward } from './core-client.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Permission that the route needs, as REST writes it; `any` for any valid key; unset for open routes. */
    permission?: RoutePermission
    /** Whether the handler reads the body itself, whatever its content type. */
    readsBody?: true
  }
}

/** Permissions of REST routes. */
export type RoutePermission = 'any' | 'generate' | 'models:read' | 'jobs:read' | 'wallet:read' | 'webhooks'

const codes = {
  generate: PermissionCode.GENERATE,
  'models:read': PermissionCode.MODELS_READ,
  'jobs:read': PermissionCode.JOBS_READ,
  'wallet:read': PermissionCode.WALLET_READ,
  webhooks: PermissionCode.WEBHOOKS,
} as const satisfies Record<Exclude<RoutePermission, 'any'>, PermissionCode>

/**
 * Checks the caller of a request that is going to be refused for its form. A request in good form is checked by the call itself.
 * @throws ConnectError or MediagenError when the caller may not call the route at all
 */
export async function checkCaller(core: CoreClient, request: FastifyRequest): Promise<void> {
  const { permission } = request.routeOptions.config
  if (!permission) return
  const { permissions } = await core.wallet.getAccess({}, forward(request))
  if (permission === 'any' || permissions.includes(codes[permission])) return
  throw new MediagenError('missing_permission', `The API key lacks the permission ${permission}.`, { permission })
}
