// The pages of signing in: /sign-in leads to the provider, which leads to /sign-in/callback; and what the consoles ask about it.
import type { FastifyInstance } from 'fastify'
import type { SignIns } from '../../core/accounts/sign-in.ts'
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
    const { token, expiresAtMs, returnTo } = await signIns.finish({ query: answer, sealed, address: request.client })
    const seconds = Math.max(1, Math.floor((expiresAtMs - Date.now()) / 1000))
    return reply.header('set-cookie', cookies.write(request, 'session', token, seconds)).redirect(returnTo, 302)
  })

  app.get('/sign-in/state', async (request, reply) => {
    const token = readSession(cookies, request)
    const own = token !== null && findForeign(request, publicUrl) === null ? token : null
    return reply.header('cache-control', 'no-store').send(await signIns.describe(own))
  })

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
