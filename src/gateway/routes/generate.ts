// POST /v1/generate and POST /v1/run. docs/contract.md, section 2.
import type { JsonObject } from '@bufbuild/protobuf'
import type { CallOptions } from '@connectrpc/connect'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  JobSchema,
  type RunRequest,
  type StartGenerationRequest,
  type StartGenerationResponse,
} from '../../../gen/mediagen/v1/generation_pb.ts'
import type { Labels } from '../../core/jobs/labels.ts'
import { patienceOf } from '../../guards/hang-ups.ts'
import { addLabelHeaders, type LabelHeader } from '../../guards/label-headers.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { startHeaders, nameHeaders, readHeaders } from '../headers.ts'
import { addModelEnd } from '../model-end.ts'
import { flag, readQuery } from '../query.ts'
import { addReceipt } from '../receipt.ts'
import { isTerminalStatus, toRecord } from '../records.ts'
import { generateBodySchema, runBodySchema } from '../schemas/bodies.ts'
import { jobSchema } from '../schemas/schemas.ts'

const query = {
  wait: flag('Answer once the job is terminal or after about three minutes, whichever comes first.'),
}
const answers = {
  200: { description: 'The job has ended.' },
  202: { description: 'The job is still active; Location says where to read it.' },
}
const errors = [
  'idempotency_key_required',
  'idempotency_key_invalid',
  'idempotency_key_reused',
  'model_not_found',
  'invalid_input',
  'insufficient_credits',
  'account_frozen',
  'too_many_jobs',
  'model_unavailable',
  'model_ended',
] as const

// When a client that does not wait may poll.
const retryAfterSeconds = 1

interface StartBody {
  model: string
  input: JsonObject
}

/** What every start says. */
type Start = Omit<StartGenerationRequest, '$typeName' | 'quoteId'>
/** Sends a start to the core. */
type Send = (
  start: Start,
  options: CallOptions,
) => Promise<Pick<StartGenerationResponse, 'job' | 'replayed' | 'modelEnd'>>

/** Adds the routes. */
export function addGenerateRoutes(
  app: FastifyInstance,
  core: CoreClient,
  stopping: AbortSignal,
  labelHeaders: readonly LabelHeader[],
): void {
  const deps = { stopping, labelHeaders }
  app.post<{ Body: StartBody & { quote_id: string } }>(
    '/v1/generate',
    {
      config: { permission: 'generate' },
      schema: {
        operation: {
          id: 'startGeneration',
          summary: 'Start a generation. The quoted credits are held now, charged on success, and released otherwise.',
          headers: startHeaders,
          query,
          answers,
          errors: [...errors, 'quote_not_found', 'quote_expired', 'quote_mismatch'],
        },
        body: generateBodySchema,
        response: { '2xx': jobSchema },
      },
    },
    (request, reply) =>
      answerStart(request, reply, deps, (start, options) => {
        const order: StartGenerationRequest = {
          $typeName: 'mediagen.v1.StartGenerationRequest',
          ...start,
          quoteId: request.body.quote_id,
        }
        return core.generation.startGeneration(order, options)
      }),
  )
  app.post<{ Body: StartBody & { max_credits: number; labels?: Labels } }>(
    '/v1/run',
    {
      config: { permission: 'generate' },
      schema: {
        operation: {
          id: 'run',
          summary:
            'Quote and start in one call. The price is held now, charged on success, and released otherwise; if it is above `max_credits`, nothing is started.',
          headers: startHeaders,
          query,
          answers,
          errors: [...errors, 'price_above_maximum'],
        },
        body: runBodySchema,
        response: { '2xx': jobSchema },
      },
    },
    (request, reply) =>
      answerStart(request, reply, deps, (start, options) => {
        const order: RunRequest = {
          $typeName: 'mediagen.v1.RunRequest',
          ...start,
          maxCredits: BigInt(request.body.max_credits),
        }
        return core.generation.run(order, options)
      }),
  )
}

/** Answers with the job: as it was started, or, if the request waits, when it has ended. */
async function answerStart(
  request: FastifyRequest<{ Body: StartBody & { labels?: Labels } }>,
  reply: FastifyReply,
  { stopping, labelHeaders }: { stopping: AbortSignal; labelHeaders: readonly LabelHeader[] },
  send: Send,
): Promise<unknown> {
  const { wait } = readQuery(request, query)
  const { model, input } = request.body
  const {
    'Idempotency-Key': idempotencyKey,
    'Cancel-After': expiresInSeconds,
    'Retain-For': retainSeconds,
    'Mediagen-Priority': priority,
    'Mediagen-Labels': headerLabels,
  } = readHeaders(request)
  const labels = addLabelHeaders({ ...headerLabels, ...request.body.labels }, labelHeaders, request.headers)
  const terms = { priority, expiresInSeconds, retainSeconds, labels }
  const start = (mayWait: boolean, options: CallOptions) =>
    send({ model, input, wait: mayWait, idempotencyKey, ...terms }, options).catch((error: unknown) => {
      throw nameHeaders(error)
    })
  const { job, replayed, modelEnd } = await (wait
    ? start(true, { ...forward(request), signal: patienceOf(reply, stopping) }).catch((error: unknown) => {
        // This server is stopping and the core is not: the core answers the same request with the record as it is.
        if (!stopping.aborted) throw error
        return start(false, forward(request))
      })
    : start(false, forward(request)))
  if (replayed) reply.header('idempotent-replayed', 'true')
  addModelEnd(reply, modelEnd)
  const record = toRecord(JobSchema, job)
  if (isTerminalStatus(job?.status)) {
    addReceipt(reply, job?.receipt)
    return record
  }
  reply.code(202).header('location', `/v1/jobs/${job?.jobId}`).header('retry-after', String(retryAfterSeconds))
  return record
}
