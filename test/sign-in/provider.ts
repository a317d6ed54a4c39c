// A real OpenID provider on a free port of this machine, at which one person after the other signs in; tests may make it lie.
import { createSign, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

/** What the provider says of a person, besides the subject. */
export type Claims = Readonly<Record<string, unknown>>

/** A provider under test. */
export interface TestProvider extends AsyncDisposable {
  readonly issuer: string
  /** The settings of a server that signs people in here. */
  readonly settings: Readonly<Record<string, string>>
  /** Who signs in from now on; null for someone who refuses. */
  person: { readonly subject: string; readonly claims: Claims } | null
  /** Changes the claims of the ID tokens from now on, which are signed again. */
  changeToken: ((claims: Record<string, unknown>) => void) | null
  /** Changes the answer to a path from now on. */
  changeAnswer: ((path: string, body: Record<string, unknown>) => number | void) | null
  /** Requests at the token endpoint. */
  readonly tokenRequests: () => number
  /** Stops listening. */
  stop(): Promise<void>
}

const clientId = 'mediagen'
const clientSecret = 'a secret of the client'
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'test', use: 'sig', alg: 'RS256' }

/** Starts a provider. @param redirectUris of the servers that use it; called when one begins a sign-in */
export async function startProvider(redirectUris: () => readonly string[]): Promise<TestProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let tokenRequests = 0
  const handles = new Map<string, ReturnType<Provider['callback']>>()

  const state: Pick<TestProvider, 'person' | 'changeToken' | 'changeAnswer'> = {
    person: null,
    changeToken: null,
    changeAnswer: null,
  }

  function create(redirectUris: readonly string[]): ReturnType<Provider['callback']> {
    const provider = new Provider(issuer, {
      clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: redirectUris }],
      jwks: { keys: [jwk] },
      cookies: { keys: ['cookies of the test'] },
      scopes: ['openid', 'email', 'groups'],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
      features: { devInteractions: { enabled: false } },
      pkce: { required: () => true },
      // The defaults print notices.
      ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 600, Interaction: 60, Session: 60 },
      interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      findAccount: (_ctx: unknown, accountId: string) => ({
        accountId,
        claims: async () => ({ sub: accountId, ...state.person?.claims }),
      }),
      // Nobody is asked for consent.
      async loadExistingGrant({ oidc }: { oidc: any }) {
        const grant = new provider.Grant({ clientId, accountId: oidc.session.accountId })
        grant.addOIDCScope('openid email groups')
        await grant.save()
        return grant
      },
    })
    provider.use(async (ctx, next) => {
      if (ctx.path.startsWith('/interaction/')) {
        ctx.respond = false
        const { person } = state
        const result = person ? { login: { accountId: person.subject } } : { error: 'access_denied' }
        return provider.interactionFinished(ctx.req, ctx.res, result)
      }
      if (ctx.path === '/token') tokenRequests += 1
      await next()
      const { body } = ctx
      if (typeof body !== 'object' || body === null) return
      if (state.changeToken && typeof body.id_token === 'string')
        body.id_token = signAgain(body.id_token, state.changeToken)
      const status = state.changeAnswer?.(ctx.path, body)
      if (status !== undefined) ctx.status = status
    })
    return provider.callback()
  }
  // Its clients are known when it is made; what it keeps is in memory.
  server.on('request', (request, response) => {
    const known = redirectUris()
    const name = known.join(' ')
    const handle = handles.get(name) ?? create(known)
    handles.set(name, handle)
    handle(request, response)
  })

  async function stop(): Promise<void> {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }

  return Object.assign(state, {
    issuer,
    settings: {
      MEDIAGEN_OIDC_ISSUER: issuer,
      MEDIAGEN_OIDC_CLIENT_ID: clientId,
      MEDIAGEN_OIDC_CLIENT_SECRET: clientSecret,
      MEDIAGEN_OIDC_SCOPES: 'openid email groups',
    },
    tokenRequests: () => tokenRequests,
    stop,
    [Symbol.asyncDispose]: stop,
  })
}

function signAgain(token: string, change: (claims: Record<string, unknown>) => void): string {
  const [head = '', body = ''] = token.split('.')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>
  change(claims)
  const signed = `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${signed}.${createSign('sha256').update(signed).sign(privateKey, 'base64url')}`
}

/** A browser: it keeps cookies for each address, and follows redirects. */
export interface TestBrowser {
  /** Cookies by address, and then by name. */
  readonly jar: Map<string, Map<string, string>>
  fetch(url: string, init?: RequestInit): Promise<Response>
  /** Follows redirects up to the first answer that is none, or to an address that `stopAt` accepts. */
  follow(url: string, stopAt?: (url: string) => boolean): Promise<{ readonly url: string; readonly response: Response }>
}

/** @param agent how it calls itself */
export function createBrowser(agent = 'test'): TestBrowser {
  const jar: TestBrowser['jar'] = new Map()

  async function send(url: string, init: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url)
    const cookies = jar.get(host) ?? new Map<string, string>()
    jar.set(host, cookies)
    const headers = new Headers({ 'user-agent': agent, ...Object.fromEntries(new Headers(init.headers)) })
    if (cookies.size > 0) headers.set('cookie', [...cookies].map((pair) => pair.join('=')).join('; '))
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0\b|expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }

  return {
    jar,
    fetch: send,
    async follow(first, stopAt = () => false) {
      let url = first
      for (let hops = 0; hops < 20; hops++) {
        const response = await send(url)
        const location = response.headers.get('location')
        if (location === null) return { url, response }
        url = new URL(location, url).href
        if (stopAt(url)) return { url, response }
      }
      throw new Error(`too many redirects, the last to ${url}`)
    },
  }
}
