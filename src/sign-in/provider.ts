// An OpenID provider: where the browser goes, and what the code that it brings back is worth. openid-client checks issuer, audience,
// nonce, state, times and signature; it is loaded by the first sign-in.
import type { ClientAuth, Configuration } from 'openid-client'
import type { Person } from '../core/accounts/sign-in.ts'
import { MediagenError } from '../core/errors.ts'

// How far the clocks of the two servers may be apart.
const clockToleranceSeconds = 60
const answerSeconds = 10
// What a provider says about itself is asked for again after this time: its keys are another matter, which openid-client reads anew.
const keptMs = 3_600_000
// A provider that is away is not asked again for each visitor.
const failureKeptMs = 5000

/** The settings of a provider. */
export interface ProviderSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: string
}

/** What a sign-in must come back with. */
export interface SignInChecks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** A provider. */
export interface Provider {
  /** The host, as people know it. */
  readonly name: string
  /** The address that the browser is sent to, and what to check when it returns to `redirectUri`. @throws MediagenError `sign_in_unavailable` */
  begin(redirectUri: string): Promise<{ readonly url: string; readonly checks: SignInChecks }>
  /** The person behind the address of a callback. @throws MediagenError `sign_in_refused`, `sign_in_unavailable` */
  finish(callback: URL, checks: SignInChecks): Promise<Person>
}

type Claims = Readonly<Record<string, unknown>>

/**
 * Creates the provider; nothing is asked of it before the first sign-in.
 * @param report gets the cause of each failure, for the log
 * @param monotonicMs a monotonic clock
 */
export function createProvider(
  settings: ProviderSettings,
  report: (error: unknown) => void,
  monotonicMs: () => number = () => performance.now(),
): Provider {
  const issuer = new URL(settings.issuer)
  const name = issuer.host
  let known: { readonly configuration: Promise<Configuration>; untilMs: number } | null = null

  async function discover(): Promise<Configuration> {
    const client = await import('openid-client')
    const { clientId, clientSecret } = settings
    const isPlain = issuer.protocol === 'http:'
    const execute = [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])]
    const metadata = { client_secret: clientSecret, [client.clockTolerance]: clockToleranceSeconds }
    const basic = client.ClientSecretBasic(clientSecret)
    const post = client.ClientSecretPost(clientSecret)
    const authenticate: ClientAuth = (server, ...request) => {
      // By OpenID Connect, that is what a provider takes that names no methods.
      const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
      const send = methods.includes('client_secret_basic') ? basic : post
      send(server, ...request)
    }
    return client.discovery(issuer, clientId, metadata, authenticate, { execute, timeout: answerSeconds })
  }

  async function configure(): Promise<Configuration> {
    if (known === null || monotonicMs() >= known.untilMs) {
      const attempt = { configuration: discover(), untilMs: monotonicMs() + keptMs }
      known = attempt
      attempt.configuration.catch((error: unknown) => {
        attempt.untilMs = monotonicMs() + failureKeptMs
        report(error)
      })
    }
    const { configuration } = known
    return configuration.catch((error: unknown) => {
      throw unavailable(name, error, { retryAfterSeconds: failureKeptMs / 1000 })
    })
  }

  /** Claims of the ID token, with those of the UserInfo endpoint, where most providers put the address and groups. */
  async function readClaims(configuration: Configuration, callback: URL, checks: SignInChecks): Promise<Claims> {
    const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client')
    const tokens = await authorizationCodeGrant(configuration, callback, {
      expectedState: checks.state,
      expectedNonce: checks.nonce,
      pkceCodeVerifier: checks.verifier,
      idTokenExpected: true,
    })
    const claims: Claims = tokens.claims() ?? {}
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims
    const more = await fetchUserInfo(configuration, tokens.access_token, String(claims['sub']))
    return { ...claims, ...more, email_verified: isVerified(claims, more) }
  }

  return {
    name,
    async begin(redirectUri) {
      const configuration = await configure()
      const client = await import('openid-client')
      const checks: SignInChecks = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      }
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: settings.scopes,
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, checks }
    },
    async finish(callback, checks) {
      const configuration = await configure()
      try {
        return toPerson(await readClaims(configuration, callback, checks))
      } catch (error) {
        report(error)
        throw isAway(error) ? unavailable(name, error) : refused(name, error)
      }
    },
  }
}

/** Whether the provider has verified the address of the UserInfo endpoint, or else of the token: what it says of one is not said of another. */
function isVerified(token: Claims, info: Claims): unknown {
  const { email = token['email'], email_verified: verified } = info
  if (verified !== undefined) return verified
  return token['email'] === undefined || token['email'] === email ? token['email_verified'] : false
}

function toPerson({ sub, email, email_verified: verified, groups }: Claims): Person {
  if (typeof sub !== 'string' || !/^[ -~]{1,255}$/.test(sub))
    throw new Error('the subject is not 1 to 255 ASCII characters')
  // Some providers write the Boolean as a text.
  const isAddressVerified = verified === true || verified === 'true'
  return {
    subject: sub,
    email: isAddressVerified && typeof email === 'string' && isAddress(email) ? email : null,
    groups: [groups ?? []].flat().filter((group) => typeof group === 'string'),
  }
}

/** It names the person in lists and logs. */
function isAddress(email: string): boolean {
  return email.length <= 200 && /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u.test(email)
}

/** Whether the provider could not be asked, or was not able to answer. */
function isAway(error: unknown): boolean {
  const { name, code, status, cause } = error as { name?: string; code?: string; status?: number; cause?: unknown }
  if (code === 'OAUTH_TIMEOUT' || (status !== undefined && status >= 500)) return true
  if (cause instanceof Response) return cause.status >= 500
  // What `fetch` throws when there is no connection.
  return name === 'TypeError' || (cause instanceof TypeError && code === undefined)
}

function unavailable(provider: string, cause: unknown, details: { retryAfterSeconds?: number } = {}): MediagenError {
  return new MediagenError(
    'sign_in_unavailable',
    `Signing in at ${provider} does not work now: ${explain(cause)}. Try again ${details.retryAfterSeconds === undefined ? 'later' : 'in a few seconds'}; the log of this server holds the cause.`,
    details,
    { cause },
  )
}

function refused(provider: string, cause: unknown): MediagenError {
  return new MediagenError('sign_in_refused', `${provider} did not sign you in: ${explain(cause)}.`, {}, { cause })
}

/** In words, without what the provider sent: that is in the log. */
function explain(error: unknown): string {
  const { error: code, code: kind } = error as { error?: unknown; code?: unknown }
  if (typeof code === 'string' && /^[\w.-]{1,60}$/.test(code)) return `it answered ${code}`
  const words: Readonly<Record<string, string>> = {
    OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'its answers name different issuers or persons',
    OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'its token is for another client, issuer or sign-in',
    OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'its token is not valid at this time, by the clock of this server',
    OAUTH_TIMEOUT: 'it did not answer in time',
  }
  return words[String(kind)] ?? (isAway(error) ? 'it does not answer' : 'its answer is not valid')
}
