// POST /v1/generate. docs/contract.md, section 2.
import type { JsonObject } from '@bufbuild/protobuf'
import type { CallOptions } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import { JobSchema, type StartGenerationRequest } from '../../../gen/mediagen/v1/generation_pb.ts'
import { patienceOf } from '../../guards/hang-ups.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { startHeaders, nameHeaders, readHeaders } from '../headers.ts'
import { flag, readQuery } from '../query.ts'
import { isTerminalStatus, toRecord } from '../records.ts'
import { generateBodySchema, jobSchema } from '../schemas.ts'

const query = {
  wait: flag('Answer once the job is terminal or after about three minutes, whichever comes first.'),
}

// When a client that does not wait may poll.
const retryAfterSeconds = 1

interface GenerateBody {
  model: string
  input: JsonObject
  quote_id: string
}

/** Adds the route. */
export function addGenerateRoutes(app: FastifyInstance, core: CoreClient, stopping: AbortSignal): void {
  app.post<{ Body: GenerateBody }>(
    '/v1/generate',
    {
      config: { permission: 'generate' },
      schema: {
        operation: {
          id: 'startGeneration',
          summary: 'Start a generation. The quoted credits are held now, charged on success, and released otherwise.',
          headers: startHeaders,
          query,
          answers: {
            200: { description: 'The job has ended.' },
            202: { description: 'The job is still active; Location says where to read it.' },
          },
          errors: [
            'idempotency_key_required',
            'idempotency_key_invalid',
            'idempotency_key_reused',
            'model_not_found',
            'quote_not_found',
            'quote_expired',
            'quote_mismatch',
            'invalid_input',
            'insufficient_credits',
            'too_many_jobs',
            'model_unavailable',
          ],
        },
        body: generateBodySchema,
        response: { '2xx': jobSchema },
      },
    },
    async (request, reply) => {
      const { wait } = readQuery(request, query)
      const { model, input, quote_id: quoteId } = request.body
      const {
        'Idempotency-Key': idempotencyKey,
        'Cancel-After': expiresInSeconds,
        'Retain-For': retainSeconds,
        'Mediagen-Priority': priority,
      } = readHeaders(request)
      const start = (mayWait: boolean, options: CallOptions) => {
        const order: StartGenerationRequest = {
          $typeName: 'mediagen.v1.StartGenerationRequest',
          model,
          input,
          quoteId,
          wait: mayWait,
          idempotencyKey,
          priority,
          expiresInSeconds,
          retainSeconds,
        }
        return core.generation.startGeneration(order, options).catch((error: unknown) => {
          throw nameHeaders(error)
        })
      }
      const { job, replayed } = await (wait
        ? start(true, { ...forward(request), signal: patienceOf(reply, stopping) }).catch((error: unknown) => {
            // This server is stopping and the core is not: the core answers the same request with the record as it is.
            if (!stopping.aborted) throw error
            return start(false, forward(request))
          })
        : start(false, forward(request)))
      if (replayed) reply.header('idempotent-replayed', 'true')
      const record = toRecord(JobSchema, job)
      if (isTerminalStatus(job?.status)) return record
      reply.code(202).header('location', `/v1/jobs/${job?.jobId}`).header('retry-after', String(retryAfterSeconds))
      return record
    },
  )
}
