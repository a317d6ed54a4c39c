// Signing in: its settings checked together, and what the core offers of it.
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { type SignInAccess, type SignIns, toSessionTerms } from '../core/accounts/sign-in.ts'
import type { Clock } from '../core/clock.ts'
import { MediagenError, StartupError } from '../core/errors.ts'
import type { Store } from '../core/store.ts'
import type { Secrets } from '../engines/secrets.ts'
import { toClientNetwork } from '../guards/client-address.ts'
import { createTokenBuckets } from '../guards/token-bucket.ts'
import { createProvider } from '../sign-in/provider.ts'
import { createSignIns, noSignIns, type SignInDeps } from '../sign-in/sign-ins.ts'

/** The settings of signing in, complete. */
export interface SignInSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: string
  readonly access: SignInAccess
  readonly sessionMs: number
  /** What sessions depend on. */
  readonly terms: string
}

/**
 * Reads the settings; null if people cannot sign in. The log hides the secret from now on.
 * @throws StartupError that names every setting that is missing
 */
export function readSignIn(config: Config, secrets: Pick<Secrets, 'valueOf'>): SignInSettings | null {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, oidcAccess: access } = config
  secrets.valueOf('MEDIAGEN_OIDC_CLIENT_SECRET')
  const needed = {
    MEDIAGEN_OIDC_CLIENT_ID: clientId,
    MEDIAGEN_OIDC_CLIENT_SECRET: clientSecret,
    MEDIAGEN_OIDC_ACCESS: access,
  }
  const missing = Object.entries(needed).flatMap(([name, value]) => (value ? [] : [name]))
  if (issuer === null) {
    if (missing.length === Object.keys(needed).length) return null
    const set = Object.keys(needed).filter((name) => !missing.includes(name))
    throw new StartupError(`${set.join(', ')}: signing in also needs MEDIAGEN_OIDC_ISSUER.`)
  }
  if (missing.length > 0 || access === null)
    throw new StartupError(`MEDIAGEN_OIDC_ISSUER also needs ${missing.join(', ')}.`)
  const sessionMs = config.sessionHours * 3_600_000
  const terms = toSessionTerms(issuer, clientId, access)
  return { issuer, clientId, clientSecret, scopes: config.oidcScopes, access, sessionMs, terms }
}

/**
 * Starts signing in. The provider is asked at the first sign-in, and may be away until then.
 * @throws StartupError that names every account of the rules that does not exist
 */
export async function startSignIns(
  settings: SignInSettings | null,
  config: Pick<Config, 'failedKeysPerMinute'>,
  { store, clock, log }: { store: Store; clock: Clock; log: Logger },
): Promise<SignIns> {
  if (settings === null) return noSignIns
  await requireAccounts(settings.access, store)
  const provider = createProvider(settings, (error) => log.warn({ reason: describe(error) }, 'a sign-in failed'))
  return createSignIns({ ...settings, store, clock, provider, count: createCount(config.failedKeysPerMinute) })
}

async function requireAccounts({ rules }: SignInAccess, store: Pick<Store, 'getAccount'>): Promise<void> {
  const unknown: string[] = []
  for (const accountId of new Set(rules.map((rule) => rule.accountId)))
    if ((await store.getAccount(accountId)) === null) unknown.push(accountId)
  if (unknown.length > 0)
    throw new StartupError(`MEDIAGEN_OIDC_ACCESS names accounts that do not exist: ${unknown.join(', ')}.`)
}

/** Each answer to check is a request to the provider, so a client has as many that fail as it may send wrong keys. */
function createCount(perMinute: number): SignInDeps['count'] {
  const buckets = createTokenBuckets({ perSecond: perMinute / 60, burst: perMinute }, () => performance.now())
  return (address) => {
    const client = toClientNetwork(address)
    const waitMs = perMinute === 0 ? 0 : buckets.take(client, 1)
    if (waitMs === 0) return () => buckets.owe(client, -1)
    throw new MediagenError('rate_limited', 'Too many sign-ins from this address failed within a minute.', {
      retryAfterSeconds: Math.ceil(waitMs / 1000),
    })
  }
}

/** The messages of an error and its causes: what else they carry may be tokens. */
function describe(error: unknown): string {
  const lines: string[] = []
  for (let each = error; each instanceof Error && lines.length < 5; each = each.cause) {
    const { error: code, error_description: words } = each as { error?: unknown; error_description?: unknown }
    lines.push([each.message, code, words].filter((text) => typeof text === 'string').join(' '))
  }
  return lines.join(': ')
}
