// Reports of providers about submissions, from a gateway to its core: an rpc without a key, since its request carries a token.
import { createClient, type Transport } from '@connectrpc/connect'
import type { Server } from '@grpc/grpc-js'
import { SubmissionsService } from '../../gen/mediagen/v1/submissions_pb.ts'
import type { SubmissionNotifications } from '../core/jobs/submission-url.ts'
import type { FindClient } from '../guards/client-address.ts'
import { addOpenService, type OpenImpl } from './open-service.ts'

/** Serves what gateways pass on. */
export function addSubmissions(
  server: Pick<Server, 'addService'>,
  notifications: SubmissionNotifications,
  findClient: FindClient,
): void {
  const impl: OpenImpl<typeof SubmissionsService> = {
    async tellSubmission({ provider, jobId, n, token, upstreamId }) {
      return { genuine: await notifications.receive({ provider, jobId, n }, token, upstreamId || null) }
    },
  }
  addOpenService(server, SubmissionsService, impl, findClient)
}

/** Passes reports of providers on to a core elsewhere. */
export function createRemoteSubmissions(transport: Transport): SubmissionNotifications {
  const core = createClient(SubmissionsService, transport)
  return {
    async receive(submission, token, upstreamId) {
      const { genuine } = await core.tellSubmission({ ...submission, token, upstreamId: upstreamId ?? '' })
      return genuine
    },
  }
}
