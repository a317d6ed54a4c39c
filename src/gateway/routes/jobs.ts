// /v1/jobs: reading, listing, cancelling and watching jobs. docs/contract.md, section 1.
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { JobSchema } from '../../../gen/mediagen/v1/generation_pb.ts'
import { MediagenError } from '../../core/errors.ts'
import { describeViolations } from '../../core/violations.ts'
import { patienceOf } from '../../guards/hang-ups.ts'
import { toPointerToken } from '../../schema/violations.ts'
import { compressLarge } from '../compress.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { nameStream, streamJob } from '../events.ts'
import { toMediagenError, toProblem } from '../problems/problem.ts'
import { oneOf, page, readQuery, text } from '../query.ts'
import { addReceipt } from '../receipt.ts'
import { jobStatusCodes, toListOf, toRecord } from '../records.ts'
import { jobListSchema, jobSchema } from '../schemas/schemas.ts'

interface JobParams {
  job_id: string
}

const listQuery = {
  status: oneOf('Only jobs in this state.', jobStatusCodes),
  model: text('Only jobs of this model.', 200),
  idempotency_key: text('Only the job started with this key.'),
  search: text('Only jobs whose input contains this text.', 200),
  label: text('Only jobs with this label, its name and its value: `team:ads`.'),
  ...page,
}
const path = { job_id: 'Job id.' }
const errors = ['job_not_found'] as const

/** Adds the routes. */
export function addJobRoutes(
  app: FastifyInstance,
  core: CoreClient,
  stopping: AbortSignal,
  publicUrl: (host?: string) => string,
): void {
  app.get(
    '/v1/jobs',
    {
      config: { permission: 'jobs:read' },
      onSend: compressLarge,
      schema: {
        operation: { id: 'listJobs', summary: "List the account's jobs. The newest come first.", query: listQuery },
        response: { 200: jobListSchema },
      },
    },
    async (request) => {
      const { idempotency_key: idempotencyKey, ...query } = readQuery(request, listQuery)
      const { jobs, total } = await core.generation.listJobs({ idempotencyKey, ...query }, forward(request))
      return toListOf(JobSchema, jobs, total, query)
    },
  )

  app.get<{ Params: JobParams }>(
    '/v1/jobs/:job_id',
    {
      config: { permission: 'jobs:read' },
      schema: { operation: { id: 'getJob', summary: 'Read a job.', path, errors }, response: { 200: jobSchema } },
    },
    async (request, reply) => {
      readQuery(request, {})
      const { job } = await core.generation.getJob({ jobId: request.params.job_id }, forward(request))
      addReceipt(reply, job?.receipt)
      return toRecord(JobSchema, job)
    },
  )

  app.post<{ Params: JobParams }>(
    '/v1/jobs/:job_id/cancel',
    {
      config: { permission: 'generate' },
      schema: {
        operation: {
          id: 'cancelJob',
          summary: 'Cancel a job. It ends within seconds if it is running; a terminal job is left as it is.',
          path,
          errors,
        },
        response: { 200: jobSchema },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      refuseFields(request.body)
      const { job } = await core.generation.cancelJob({ jobId: request.params.job_id }, forward(request))
      addReceipt(reply, job?.receipt)
      return toRecord(JobSchema, job)
    },
  )

  app.delete<{ Params: JobParams }>(
    '/v1/jobs/:job_id',
    {
      config: { permission: 'generate' },
      schema: {
        operation: {
          id: 'deleteJob',
          summary:
            'Delete an ended job. Its input goes at once, its files within seconds. Lists leave it out; its record and its ledger entries stay. Jobs that take one of its files as their input finish, or fail with `invalid_media`.',
          path,
          answers: { 204: { description: 'Deleted, now or earlier.' } },
          errors: [...errors, 'job_not_ended'],
        },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      await core.generation.deleteJob({ jobId: request.params.job_id }, forward(request))
      return reply.code(204).send()
    },
  )

  app.get<{ Params: JobParams }>(
    '/v1/jobs/:job_id/events',
    {
      config: { permission: 'jobs:read' },
      schema: {
        operation: {
          id: 'watchJob',
          summary:
            'Watch a job. The answer is a stream of server-sent events: an event `job` with the job record at once and for each change, until the terminal one. A comment every 15 seconds keeps the connection open. After a lost connection, Last-Event-ID leaves out what was seen. A stream that fails, because its key was revoked for example, ends with an event `error`, whose data is the problem.',
          path,
          headers: { 'Last-Event-ID': text('Id of the last event seen.') },
          answers: {
            200: { description: 'The events.', content: { 'text/event-stream': { schema: { type: 'string' } } } },
            204: { description: 'The job has ended, and Last-Event-ID names its last event. Do not connect again.' },
          },
          errors,
        },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      const { job_id: jobId } = request.params
      if (request.method === 'HEAD') {
        // Only the head of the stream is wanted: nothing is watched for it.
        await core.generation.getJob({ jobId }, forward(request))
        return nameStream(reply).send(Readable.from([]))
      }
      const changes = core.generation.watchJob(
        { jobId, afterSequence: readLastEventId(request.headers['last-event-id']) },
        { ...forward(request), signal: patienceOf(reply, stopping) },
      )
      const here = publicUrl(request.headers.host)
      return streamJob(reply, changes, stopping, (error) => toProblem(toMediagenError(error), request.id, here))
    },
  )
}

/** The last sequence number that a client saw; 0 if it saw none or sends an invalid one. */
function readLastEventId(sent: string | string[] | undefined): bigint {
  return typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? BigInt(sent) : 0n
}

/**
 * A body that must be empty: none, or an empty object.
 * @throws MediagenError `invalid_request` that names every field
 */
function refuseFields(body: unknown): void {
  if (body === undefined || body === null) return
  if (typeof body !== 'object' || Array.isArray(body))
    throw new MediagenError('invalid_request', 'The body must be an empty object, or left out.')
  const violations = Object.keys(body).map((name) => ({
    pointer: `/${toPointerToken(name)}`,
    detail: 'is not a known field',
  }))
  if (violations.length > 0) throw new MediagenError('invalid_request', describeViolations(violations), { violations })
}
