// POST /submissions/…: the callback of providers about a submission, under the unguessable URL that they were given. Only the
// id is taken from it; everything else is queried from the provider.
import type { FastifyInstance } from 'fastify'
import { MediagenError } from '../../core/errors.ts'
import { isUpstreamId, type Submission, type SubmissionNotifications } from '../../core/jobs/submission-url.ts'

interface Params {
  readonly provider: string
  readonly jobId: string
  readonly n: string
  readonly token: string
}

/** Adds the route. */
export function addSubmissionRoute(app: FastifyInstance, notifications: SubmissionNotifications): void {
  app.post<{ Params: Params; Body: unknown }>(
    '/submissions/:provider/:jobId/:n/:token',
    {
      // Before the body is read.
      async onRequest({ params }) {
        const submission = toSubmission(params)
        if (submission === null || !(await notifications.receive(submission, params.token, null)))
          throw new MediagenError('route_not_found', 'There is nothing at this address.')
      },
    },
    async ({ params, body }, reply) => {
      // fal says request_id, Replicate says id.
      const { request_id: requestId, id } = (body ?? {}) as { request_id?: unknown; id?: unknown }
      const upstreamId = requestId ?? id
      const submission = toSubmission(params)
      if (submission && isUpstreamId(upstreamId)) await notifications.receive(submission, params.token, upstreamId)
      return reply.code(204).send()
    },
  )
}

function toSubmission({ provider, jobId, n }: Params): Submission | null {
  return /^[1-9]\d{0,8}$/.test(n) ? { provider, jobId, n: Number(n) } : null
}
