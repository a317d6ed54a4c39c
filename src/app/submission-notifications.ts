// Reports of providers about submissions.
import { isSubmissionToken, isUpstreamId, type SubmissionNotifications } from '../core/jobs/submission-url.ts'
import type { Store } from '../core/store.ts'

/** What the address that providers are given leads to. */
export function createSubmissionNotifications(
  store: Pick<Store, 'signingKeys' | 'findSubmission'>,
): SubmissionNotifications {
  return {
    async receive(submission, token, upstreamId) {
      const secrets = (await store.signingKeys('asset')).map(({ secret }) => secret)
      if (!isSubmissionToken(submission, token, secrets)) return false
      if (isUpstreamId(upstreamId)) await store.findSubmission({ ...submission, upstreamId })
      return true
    },
  }
}
