// The pages of signing in: /sign-in leads to the provider, which leads to /sign-in/callback; and what the consoles ask about it.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OwnSession, SignIns } from '../../core/accounts/sign-in.ts'
import { toTimestampText } from '../../core/clock.ts'
import { MediagenError } from '../../core/errors.ts'
import { readQuery, text } from '../query.ts'
import { createCookies, findForeign, type PublicUrl, readSession, useSessions } from './session-cookie.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** On routes for people, whose refusals are pages: the path of the console that they lead back to. */
    backTo?: string
  }
}

/** What they need. */
export interface SignInRoutes {
  readonly signIns: SignIns
  readonly publicUrl: PublicUrl
  /** The path of the console to which a sign-in returns unless it was begun elsewhere. */
  readonly backTo: string
}

// As long as a sign-in may take (sign-in/sign-ins.ts).
const pendingSeconds = 600
// Browsers keep no longer cookies.
const longestSealed = 4096
const query = { to: text('Path of the page to return to.') }

/** Adds the routes, and sessions in place of keys for all that are added from here on. */
export function addSignIn(app: FastifyInstance, { signIns, publicUrl, backTo }: SignInRoutes): void {
  const cookies = createCookies(publicUrl)
  useSessions(app, cookies, publicUrl)
  const page = { config: { backTo } }

  app.get('/sign-in', page, async (request, reply) => {
    const { to } = readQuery(request, query)
    const { url, sealed } = await signIns.begin(publicUrl(request.headers.host), to || backTo)
    return reply
      .header('cache-control', 'no-store')
      .header('set-cookie', cookies.write(request, 'sign-in', sealed, pendingSeconds))
      .redirect(url, 302)
  })

  app.get('/sign-in/callback', page, async (request, reply) => {
    const sealed = cookies.read(request, 'sign-in')
    if (sealed === null || sealed.length > longestSealed)
      throw new MediagenError(
        'sign_in_refused',
        'This browser has begun no sign-in, or keeps no cookies of this server. Begin again.',
      )
    // Once: the next sign-in has another one.
    reply.header('cache-control', 'no-store').header('set-cookie', cookies.write(request, 'sign-in', '', 0))
    const answer = request.url.slice(request.url.indexOf('?') + 1)
    const { token, expiresAtMs, returnTo } = await signIns.finish({
      query: answer,
      sealed,
      address: request.client,
      browser: request.headers['user-agent'] ?? null,
    })
    const seconds = Math.max(1, Math.floor((expiresAtMs - Date.now()) / 1000))
    return reply.header('set-cookie', cookies.write(request, 'session', token, seconds)).redirect(returnTo, 302)
  })

  app.get('/sign-in/state', async (request, reply) => {
    const token = readSession(cookies, request)
    const own = token !== null && findForeign(request, publicUrl) === null ? token : null
    const { provider, person, sessionId } = await signIns.describe(own)
    return reply.header('cache-control', 'no-store').send({ provider, person, session_id: sessionId })
  })

  app.get('/sign-in/sessions', async (request, reply) => {
    const sessions = await signIns.list(requireSession(request))
    return reply.header('cache-control', 'no-store').send({ sessions: sessions.map(toRecord) })
  })

  app.delete<{ Params: { session_id: string } }>('/sign-in/sessions/:session_id', async (request, reply) => {
    await signIns.end(requireSession(request), request.params.session_id)
    return reply.code(204).send()
  })

  /** @throws MediagenError `authentication_required`, `origin_not_allowed` */
  function requireSession(request: FastifyRequest): string {
    const token = readSession(cookies, request)
    if (token === null)
      throw new MediagenError('authentication_required', 'Nobody is signed in with this browser. Sign in first.')
    const refusal = findForeign(request, publicUrl)
    if (refusal !== null) throw refusal
    return token
  }

  app.post(
    '/sign-out',
    {
      // Before the body, which does not matter, is read.
      onRequest(request, _reply, done) {
        const isSignedIn = readSession(cookies, request) !== null
        done((isSignedIn ? findForeign(request, publicUrl) : null) ?? undefined)
      },
    },
    async (request, reply) => {
      const token = readSession(cookies, request)
      if (token !== null) await signIns.signOut(token)
      return reply
        .header('set-cookie', cookies.write(request, 'session', '', 0))
        .code(204)
        .send()
    },
  )
}

/** As records of REST are written. */
function toRecord({ sessionId, createdAtMs, expiresAtMs, lastSeenAtMs, address, browser }: OwnSession) {
  return {
    session_id: sessionId,
    created_at: toTimestampText(createdAtMs),
    expires_at: toTimestampText(expiresAtMs),
    last_seen_at: lastSeenAtMs === null ? null : toTimestampText(lastSeenAtMs),
    address,
    browser,
  }
}
