// The session of a browser: a cookie that stands for an Authorization header, for requests of our own pages only.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isSessionToken } from '../../core/accounts/session.ts'
import { MediagenError } from '../../core/errors.ts'
import { cutText } from '../../core/text/log-text.ts'

/** Address under which clients reach this server, for a request to this `Host`. */
export type PublicUrl = (host?: string) => string

/** The cookies of one server. The names of its secure ones keep other hosts of its domain from setting them (RFC 6265bis, 4.1.3). */
export interface Cookies {
  /** The value of `name` in a request; null if there is none. */
  read(request: FastifyRequest, name: CookieName): string | null
  /** A `Set-Cookie` header. @param seconds how long the browser keeps it; 0 removes it */
  write(request: FastifyRequest, name: CookieName, value: string, seconds: number): string
}

type CookieName = 'session' | 'sign-in'

/** Creates the cookies. */
export function createCookies(publicUrl: PublicUrl): Cookies {
  const isSecure = ({ headers }: FastifyRequest): boolean => publicUrl(headers.host).startsWith('https:')
  const toName = (request: FastifyRequest, name: CookieName): string =>
    `${isSecure(request) ? '__Host-' : ''}mediagen-${name}`
  return {
    read(request, name) {
      const sent = toName(request, name)
      for (const pair of (request.headers.cookie ?? '').split(';')) {
        const end = pair.indexOf('=')
        if (end > 0 && pair.slice(0, end).trim() === sent) return pair.slice(end + 1).trim()
      }
      return null
    },
    write(request, name, value, seconds) {
      const secure = isSecure(request) ? '; Secure' : ''
      return `${toName(request, name)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
    },
  }
}

/** The session in the cookie of a request; null if there is none. */
export function readSession(cookies: Cookies, request: FastifyRequest): string | null {
  const token = cookies.read(request, 'session')
  return token !== null && isSessionToken(token) ? token : null
}

/**
 * Lets requests without an Authorization header use the session of their cookie. Call it before routes and other checks of callers
 * are added.
 */
export function useSessions(app: FastifyInstance, cookies: Cookies, publicUrl: PublicUrl): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    if (headers.cookie === undefined || headers.authorization !== undefined) return done()
    const token = readSession(cookies, request)
    if (token === null || !needsCaller(request)) return done()
    const refusal = findForeign(request, publicUrl)
    if (refusal) return done(refusal)
    headers.authorization = `Bearer ${token}`
    done()
  })
}

/** Whether a key opens the route: that of the REST interface, or of Connect. */
function needsCaller({ routeOptions, url }: FastifyRequest): boolean {
  return routeOptions.config.permission !== undefined || url.startsWith('/mediagen.v1.')
}

/**
 * The refusal of a request that no page of this server has sent: the browser adds the cookie to requests of others, too, whose
 * effects the user did not want, or whose answers they should not read.
 */
export function findForeign(request: FastifyRequest, publicUrl: PublicUrl): MediagenError | null {
  const { origin, host } = request.headers
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  switch (request.headers['sec-fetch-site']) {
    case 'same-origin':
      return null
    case 'none':
      // The user has opened the address.
      if (isRead) return null
      break
    case undefined:
      // Browsers do not say it to servers without TLS. SameSite keeps the cookie from reads that have no Origin.
      if (origin === undefined ? isRead : isOwn(origin, host, publicUrl)) return null
      break
    default:
      break
  }
  const from = origin === undefined ? 'somewhere else' : cutText(origin)
  return new MediagenError(
    'origin_not_allowed',
    `The session of a browser may only be used by the pages of this server; this request came from ${from}. Programs and other websites need an API key.`,
  )
}

function isOwn(origin: string, host: string | undefined, publicUrl: PublicUrl): boolean {
  return origin === publicUrl(host) || (host !== undefined && URL.parse(origin)?.host === host)
}
