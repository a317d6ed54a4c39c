// POST /v1/images/generations: pictures for programs that speak OpenAI's interface. docs/openai.md.
import type { CallOptions } from '@connectrpc/connect'
import { digestParts } from '@mediagen/engine/canonical-json.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Modality } from '../../gen/mediagen/v1/catalog_pb.ts'
import { MediagenError } from '../core/errors.ts'
import { type CoreClient, forward } from '../gateway/core-client.ts'
import { readHeadersOf } from '../gateway/headers.ts'
import { json } from '../gateway/openapi/document.ts'
import { toMediagenError } from '../gateway/problems/problem.ts'
import { readQuery, text } from '../gateway/query.ts'
import { patienceOf, whenClosed } from '../guards/hang-ups.ts'
import { type Attempts, createAttempts, type Group, joinableMs } from './attempts.ts'
import { findCeiling, maxCreditsHeader } from './ceiling.ts'
import { Generations, nameBases } from './generations.ts'
import { describeImages, imagesSchema, outputsOf, unfinished } from './image-answer.ts'
import { type ImageBody, nameFields, toImageOrder } from './image-request.ts'
import type { ReadOutput } from './outputs.ts'

/** What the door needs. */
export interface ImagesDeps {
  readonly core: CoreClient
  readonly stopping: AbortSignal
  /** Name of the model where none is sent; null for none. */
  readonly model: string | null
  /** Ceiling where nothing else says one; null for none. */
  readonly maxCredits: number | null
  readonly readOutput: ReadOutput
  readonly nowMs: () => number
}

const headers = {
  'Idempotency-Key': text('The same value for the same request: it is answered with its earlier jobs.'),
  'Mediagen-Max-Credits': maxCreditsHeader,
  'X-Stainless-Retry-Count': text("How often OpenAI's libraries have repeated this request."),
}

const nullable = (type: string, rest: object = {}): object => ({ type: [type, 'null'], ...rest })

const bodySchema = {
  type: 'object',
  // Fields that the model has are passed to it; others are refused by name.
  additionalProperties: true,
  properties: {
    model: nullable('string', { description: 'Model id or alias; that of the server where none is sent.' }),
    prompt: nullable('string', { description: 'What to make.' }),
    n: nullable('integer', { minimum: 1, maximum: 10, description: 'Number of pictures.' }),
    size: nullable('string', { description: '`auto`, or width and height such as `1024x1024`.' }),
    response_format: { enum: ['b64_json', 'url', null], description: 'Bytes or addresses; `b64_json` by default.' },
    max_credits: nullable('integer', { minimum: 0, description: 'The most that all of it may cost.' }),
  },
} as const

const errors = [
  'model_not_found',
  'model_not_allowed',
  'model_unavailable',
  'invalid_input',
  'max_credits_required',
  'price_above_maximum',
  'insufficient_credits',
  'budget_exceeded',
  'too_many_jobs',
  'generation_failed',
  'generation_unfinished',
] as const

/** Adds the route. */
export function addImageRoutes(app: FastifyInstance, deps: ImagesDeps): void {
  const attempts = createAttempts(deps.nowMs)
  app.register(async (door) => {
    // Clients of this interface repeat what fails: a picture would be paid twice.
    door.addHook('onRequest', (_request, reply, done) => {
      reply.header('x-should-retry', 'false')
      done()
    })
    door.post<{ Body: ImageBody }>(
      '/v1/images/generations',
      {
        config: { permission: 'generate', conflictStatus: 422 },
        schema: {
          operation: {
            id: 'createImage',
            summary: "Make pictures as OpenAI's interface does. The answer has the pictures when they are made.",
            headers,
            answers: {
              200: { description: 'The pictures.', content: json(imagesSchema) },
              422: { description: 'The Idempotency-Key was used with another request (`idempotency_key_reused`).' },
            },
            errors,
          },
          body: bodySchema,
        },
      },
      (request, reply) =>
        answerImages(request, reply, attempts, deps).catch((error: unknown) => {
          throw nameFields(toMediagenError(error))
        }),
    )
  })
}

async function answerImages(
  request: FastifyRequest<{ Body: ImageBody }>,
  reply: FastifyReply,
  attempts: Attempts,
  deps: ImagesDeps,
): Promise<object> {
  readQuery(request, {})
  const { core, stopping } = deps
  const { body } = request
  const sent = readHeadersOf(request, headers)
  const { count, input, model } = await findOrder(request, deps)
  const ceiling = await findCeiling(request, core, {
    header: sent['Mediagen-Max-Credits'],
    body: body.max_credits ?? null,
    server: deps.maxCredits,
  })
  const asUrls = body.response_format === 'url'
  const generations = new Generations(core, { model, input, count }, forwardFor(request, asUrls))
  const maxCredits = await generations.price(ceiling)
  const signal = patienceOf(reply, stopping)
  const group = await startOnce(request, attempts, { generations, maxCredits, nowMs: deps.nowMs }, (answered) =>
    whenClosed(reply, () => answered(reply.statusCode === 200 && reply.raw.writableFinished)),
  )
  const jobs = await generations.awaitEnds(group, signal).catch((error: unknown) => {
    if (!stopping.aborted) throw error
    throw unfinished([])
  })
  reply.header('mediagen-job', jobs.map(({ jobId }) => jobId).join(', '))
  const outputs = outputsOf(jobs)
  const charged = jobs.reduce((sum, { billing }) => sum + Number(billing?.charged ?? 0), 0)
  reply.header('mediagen-credits-charged', String(charged))
  const data = asUrls
    ? outputs.map(({ url }) => ({ url }))
    : await Promise.all(outputs.map(async (output) => ({ b64_json: await deps.readOutput(output) })))
  return { ...describeImages(body, jobs, outputs), data }
}

/** URLs that this server reads itself are below the core's own address, not below one that the client chose. */
function forwardFor(request: FastifyRequest, asUrls: boolean): CallOptions {
  const { headers } = forward(request)
  const { 'x-forwarded-host': host, ...others } = headers as Record<string, string>
  return { headers: asUrls && host !== undefined ? { ...others, 'x-forwarded-host': host } : others }
}

/** The model and what it is asked for. */
async function findOrder(request: FastifyRequest<{ Body: ImageBody }>, { core, model: fallback }: ImagesDeps) {
  const { body } = request
  const name = body.model || fallback
  if (!name)
    throw new MediagenError(
      'invalid_request',
      'The request names no model, and this server has none for such requests (MEDIAGEN_OPENAI_IMAGE_MODEL).',
      { violations: [{ pointer: '/model', detail: 'is required' }] },
    )
  const { model, modality, inputSchema = {} } = await core.catalog.resolveModel({ name }, forward(request))
  if (modality !== Modality.IMAGE)
    throw new MediagenError('invalid_request', `${model} does not make pictures. POST /v1/run starts any model.`, {
      violations: [{ pointer: '/model', detail: 'must be a model that makes pictures' }],
    })
  return { model, ...toImageOrder(body, { id: model, inputSchema }) }
}

interface Start {
  readonly generations: Generations
  readonly maxCredits: number
  readonly nowMs: () => number
}

/**
 * The jobs of the request: those of an earlier one that it repeats, or new ones.
 * @param onEnd told how to say whether the client got its answer
 */
async function startOnce(
  request: FastifyRequest<{ Body: ImageBody }>,
  attempts: Attempts,
  { generations, maxCredits, nowMs }: Start,
  onEnd: (answered: (got: boolean) => void) => void,
): Promise<Group> {
  const { headers: sent, caller } = request
  const keyId = caller?.keyId ?? ''
  const named = sent['idempotency-key']
  if (typeof named === 'string' && named !== '')
    return generations.start([digestParts('idempotency-key', keyId, request.url, named)], maxCredits)
  const digest = digestParts(keyId, request.url, JSON.stringify(request.body))
  const isRetry = Number(sent['x-stainless-retry-count'] ?? 0) >= 1
  const period = Math.floor(nowMs() / joinableMs)

  const startNew = async (): Promise<Group> => {
    const mayRead = caller?.permissions.includes('jobs:read') ?? false
    const earlier = isRetry && mayRead ? await findElsewhere(generations, digest, period, nowMs) : null
    if (earlier !== null) return generations.start([earlier], maxCredits)
    return generations.start(nameBases(digest, period, attempts.takeOrdinal(digest, period)), maxCredits)
  }
  // Nothing is awaited between the two: a third request sees both.
  const joined = attempts.join(digest, isRetry)
  const attempt = attempts.begin(digest, joined?.started ?? startNew())
  onEnd((got) => attempts.end(attempt, got))
  return attempt.started
}

/** The latest of equal requests that another process took, or this one before it was restarted. */
async function findElsewhere(
  generations: Generations,
  digest: string,
  period: number,
  nowMs: () => number,
): Promise<string | null> {
  for (const one of [period, period - 1]) {
    let latest: string | null = null
    for (const base of nameBases(digest, one)) {
      const isRecent = await generations.isRecent(base, nowMs())
      if (isRecent === null) break
      if (isRecent) latest = base
    }
    if (latest !== null) return latest
  }
  return null
}
