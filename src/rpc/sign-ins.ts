// Signing people in, from a gateway to its core: rpcs without a key, since a sign-in is what makes one.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import type { Server } from '@grpc/grpc-js'
import {
  type OwnSession as OwnMessage,
  type OwnSessionSchema,
  SignInService,
} from '../../gen/mediagen/v1/sign_in_pb.ts'
import type { OwnSession, SignIns } from '../core/accounts/sign-in.ts'
import type { FindClient } from '../guards/client-address.ts'
import { addOpenService, type OpenImpl } from './open-service.ts'

/** Serves what gateways pass on. */
export function addSignIns(server: Pick<Server, 'addService'>, signIns: SignIns, findClient: FindClient): void {
  const impl: OpenImpl<typeof SignInService> = {
    async describeSignIn({ session }) {
      const { provider, person, sessionId } = await signIns.describe(session || null)
      return { provider: provider ?? '', person: person ?? '', sessionId: sessionId ?? '' }
    },
    beginSignIn: ({ origin, returnTo }) => signIns.begin(origin, returnTo),
    async finishSignIn({ query, sealed, browser }, address) {
      const answer = { query, sealed, address, browser: browser || null }
      const { token, expiresAtMs, returnTo } = await signIns.finish(answer)
      return { session: token, expiresAt: timestampFromMs(expiresAtMs), returnTo }
    },
    async listOwnSessions({ session }) {
      return { sessions: (await signIns.list(session)).map(toOwnMessage) }
    },
    async endOwnSession({ session, sessionId }) {
      await signIns.end(session, sessionId)
      return {}
    },
    async signOut({ session }) {
      await signIns.signOut(session)
      return {}
    },
  }
  addOpenService(server, SignInService, impl, findClient)
}

/** Passes sign-ins on to a core elsewhere. */
export function createRemoteSignIns(transport: Transport): SignIns {
  const core = createClient(SignInService, transport)
  return {
    async describe(token) {
      try {
        const { provider, person, sessionId } = await core.describeSignIn({ session: token ?? '' })
        return { provider: provider || null, person: person || null, sessionId: sessionId || null }
      } catch (error) {
        // A core of an older version signs nobody in.
        if (error instanceof ConnectError && error.code === Code.Unimplemented)
          return { provider: null, person: null, sessionId: null }
        throw error
      }
    },
    async begin(origin, returnTo) {
      const { url, sealed } = await core.beginSignIn({ origin, returnTo })
      return { url, sealed }
    },
    async finish({ query, sealed, address, browser }) {
      const headers = address === null ? {} : { 'x-forwarded-for': address }
      const answer = await core.finishSignIn({ query, sealed, browser: browser ?? '' }, { headers })
      const expiresAtMs = answer.expiresAt === undefined ? 0 : timestampMs(answer.expiresAt)
      return { token: answer.session, expiresAtMs, returnTo: answer.returnTo }
    },
    async list(token) {
      return (await core.listOwnSessions({ session: token })).sessions.map(toOwnSession)
    },
    async end(token, sessionId) {
      await core.endOwnSession({ session: token, sessionId })
    },
    async signOut(token) {
      await core.signOut({ session: token })
    },
  }
}

function toOwnMessage(session: OwnSession): MessageInitShape<typeof OwnSessionSchema> {
  const { sessionId, createdAtMs, expiresAtMs, lastSeenAtMs, address, browser } = session
  return {
    sessionId,
    createdAt: timestampFromMs(createdAtMs),
    expiresAt: timestampFromMs(expiresAtMs),
    ...(lastSeenAtMs !== null && { lastSeenAt: timestampFromMs(lastSeenAtMs) }),
    ...(address !== null && { address }),
    ...(browser !== null && { browser }),
  }
}

function toOwnSession({ sessionId, createdAt, expiresAt, lastSeenAt, address, browser }: OwnMessage): OwnSession {
  return {
    sessionId,
    createdAtMs: createdAt ? timestampMs(createdAt) : 0,
    expiresAtMs: expiresAt ? timestampMs(expiresAt) : 0,
    lastSeenAtMs: lastSeenAt ? timestampMs(lastSeenAt) : null,
    address: address ?? null,
    browser: browser ?? null,
  }
}
