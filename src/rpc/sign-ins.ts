// Signing people in, from a gateway to its core: rpcs without a key, since a sign-in is what makes one.
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import type { Server } from '@grpc/grpc-js'
import { SignInService } from '../../gen/mediagen/v1/sign_in_pb.ts'
import type { SignIns } from '../core/accounts/sign-in.ts'
import type { FindClient } from '../guards/client-address.ts'
import { addOpenService, type OpenImpl } from './open-service.ts'

/** Serves what gateways pass on. */
export function addSignIns(server: Pick<Server, 'addService'>, signIns: SignIns, findClient: FindClient): void {
  const impl: OpenImpl<typeof SignInService> = {
    async describeSignIn({ session }) {
      const { provider, person } = await signIns.describe(session || null)
      return { provider: provider ?? '', person: person ?? '' }
    },
    beginSignIn: ({ origin, returnTo }) => signIns.begin(origin, returnTo),
    async finishSignIn({ query, sealed }, address) {
      const { token, expiresAtMs, returnTo } = await signIns.finish({ query, sealed, address })
      return { session: token, expiresAt: timestampFromMs(expiresAtMs), returnTo }
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
        const { provider, person } = await core.describeSignIn({ session: token ?? '' })
        return { provider: provider || null, person: person || null }
      } catch (error) {
        // A core of an older version signs nobody in.
        if (error instanceof ConnectError && error.code === Code.Unimplemented) return { provider: null, person: null }
        throw error
      }
    },
    async begin(origin, returnTo) {
      const { url, sealed } = await core.beginSignIn({ origin, returnTo })
      return { url, sealed }
    },
    async finish({ query, sealed, address }) {
      const headers = address === null ? {} : { 'x-forwarded-for': address }
      const answer = await core.finishSignIn({ query, sealed }, { headers })
      const expiresAtMs = answer.expiresAt === undefined ? 0 : timestampMs(answer.expiresAt)
      return { token: answer.session, expiresAtMs, returnTo: answer.returnTo }
    },
    async signOut(token) {
      await core.signOut({ session: token })
    },
  }
}
