// POST /submissions/…: where providers of media tell of a submission, under the unguessable address that they were given. Only
// its id is taken from them; everything else is asked at the provider itself.
import type { FastifyInstance } from 'fastify'
import { MediagenError } from '../core/errors.ts'
import type { Submission } from '../core/submission-url.ts'

const longestId = 255

/** What providers tell. */
export interface SubmissionNews {
  /** Whether the address is one that we gave. */
  isOurs(submission: Submission, token: string): Promise<boolean>
  /** Keeps the provider's id of the submission. */
  hear(submission: Submission, upstreamId: string): Promise<void>
}

interface Params {
  readonly provider: string
  readonly jobId: string
  readonly n: string
  readonly token: string
}

/** Adds the route. */
export function addSubmissionRoute(app: FastifyInstance, { isOurs, hear }: SubmissionNews): void {
  app.post<{ Params: Params; Body: unknown }>(
    '/submissions/:provider/:jobId/:n/:token',
    {
      // Before the body is read.
      async onRequest({ params }) {
        if (!(await isOurs(toSubmission(params), params.token)))
          throw new MediagenError('route_not_found', 'There is nothing at this address.')
      },
    },
    async ({ params, body }, reply) => {
      // fal says request_id, Replicate says id.
      const { request_id: requestId, id } = (body ?? {}) as { request_id?: unknown; id?: unknown }
      const upstreamId = requestId ?? id
      if (typeof upstreamId === 'string' && upstreamId !== '' && upstreamId.length <= longestId)
        await hear(toSubmission(params), upstreamId)
      return reply.code(204).send()
    },
  )
}

function toSubmission({ provider, jobId, n }: Params): Submission {
  return { provider, jobId, n: Number(n) }
}
