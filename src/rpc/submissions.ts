// Reports of providers about submissions, from a gateway to its core: an rpc without a key, since its request carries a token.
import { createClient, type Transport } from '@connectrpc/connect'
import type { Server } from '@grpc/grpc-js'
import { SubmissionsService } from '../../gen/mediagen/v1/submissions_pb.ts'
import type { SubmissionNotifications } from '../core/jobs/submission-url.ts'
import { addOpenService } from './open-service.ts'

/** Serves what gateways pass on. */
export function addSubmissions(server: Pick<Server, 'addService'>, notifications: SubmissionNotifications): void {
  addOpenService(server, SubmissionsService, {
    async tellSubmission({ provider, jobId, n, token, upstreamId }) {
      return { genuine: await notifications.receive({ provider, jobId, n }, token, upstreamId || null) }
    },
  })
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
