// What the doors of OpenAI's interface have in common. docs/openai.md.
import type { CallOptions } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Modality } from '../../gen/mediagen/v1/catalog_pb.ts'
import type { Job } from '../../gen/mediagen/v1/generation_pb.ts'
import { MediagenError } from '../core/errors.ts'
import { type CoreClient, forward } from '../gateway/core-client.ts'
import { readHeadersOf } from '../gateway/headers.ts'
import { labelsHeader } from '../gateway/labels.ts'
import { addModelEnd } from '../gateway/model-end.ts'
import { text } from '../gateway/query.ts'
import { toReceiptText } from '../gateway/receipt.ts'
import { patienceOf, whenClosed } from '../guards/hang-ups.ts'
import { addLabelHeaders, type LabelHeader } from '../guards/label-headers.ts'
import type { Attempts, Group } from './attempts.ts'
import { findCeiling, maxCreditsHeader } from './ceiling.ts'
import { Generations, type Order } from './generations.ts'
import { haveFailed, type OpenOutput, type ReadOutput, unfinished } from './outputs.ts'
import { type End, startOnce } from './repetitions.ts'

/** What every door needs. */
export interface DoorDeps {
  readonly core: CoreClient
  readonly stopping: AbortSignal
  /** Ceiling where nothing else says one; null for none. */
  readonly maxCredits: number | null
  /** Whether the jobs of a client that hangs up are canceled. */
  readonly cancelOnDisconnect: boolean
  /** Headers that become labels of the jobs. */
  readonly labelHeaders: readonly LabelHeader[]
  readonly openOutput: OpenOutput
  readonly readOutput: ReadOutput
  readonly nowMs: () => number
  /** Logs an unexpected error after the head of an answer was sent. */
  readonly report: (error: unknown, requestId: string) => void
}

/** Headers that every door reads. */
export const doorHeaders = {
  'Idempotency-Key': text('The same value for the same request: it is answered with its earlier jobs.'),
  'Mediagen-Max-Credits': maxCreditsHeader,
  'Mediagen-Labels': labelsHeader,
  'X-Stainless-Retry-Count': text("How often OpenAI's libraries have repeated this request."),
}

/** Query parameters of every door. */
export const doorQuery = { 'api-version': text('Ignored: clients of Azure send it.') }

/** Refusals of every door. */
export const doorErrors = [
  'model_not_found',
  'model_not_allowed',
  'model_unavailable',
  'model_ended',
  'invalid_input',
  'max_credits_required',
  'price_above_maximum',
  'insufficient_credits',
  'account_frozen',
  'budget_exceeded',
  'too_many_jobs',
  'generation_failed',
  'generation_unfinished',
] as const

/** A model that a request names, or that of the server. */
export interface WantedModel {
  /** As the request has it. */
  readonly name: string | null | undefined
  /** Where the request has none; null for none. */
  readonly fallback: string | null
  /** The setting that names it. */
  readonly setting: string
  readonly modality: Modality
  /** What such a model makes, such as `pictures`. */
  readonly makes: string
}

/** Finds a model by its id or alias. */
export async function findModel(
  request: FastifyRequest,
  core: Pick<CoreClient, 'catalog'>,
  { name: sent, fallback, setting, modality: wanted, makes }: WantedModel,
) {
  const name = sent || fallback
  if (!name)
    throw new MediagenError(
      'invalid_request',
      `The request names no model, and this server has none for such requests (${setting}).`,
      { violations: [{ pointer: '/model', detail: 'is required' }] },
    )
  const {
    model: id,
    modality,
    inputSchema = {},
    openaiFields = {},
  } = await core.catalog.resolveModel({ name }, forward(request))
  if (modality !== wanted)
    throw new MediagenError('invalid_request', `${id} does not make ${makes}. POST /v1/run starts any model.`, {
      violations: [{ pointer: '/model', detail: `must be a model that makes ${makes}` }],
    })
  return { id, inputSchema, openaiFields }
}

/** What a request asks for. */
export interface DoorOrder extends Omit<Order, 'labels'> {
  /** `max_credits` of its body. */
  readonly maxCredits: number | null
  /** The body as text: the same for equal bodies. */
  readonly body: string
  /** Whether the client gets addresses of the outputs, and not their bytes. */
  readonly asUrls: boolean
}

/** The jobs of a request, which are started. */
export interface Begun {
  readonly generations: Generations
  readonly group: Group
  /** Aborts when the client hangs up or the server stops. */
  readonly signal: AbortSignal
  /** Whether an answer that was sent is the last word on the jobs. By default, if its status is 200. */
  isFinal: boolean | null
}

/** Checks what the order may cost, and starts its jobs once. */
export async function begin(
  request: FastifyRequest,
  reply: FastifyReply,
  attempts: Attempts,
  deps: DoorDeps,
  order: DoorOrder,
): Promise<Begun> {
  const { core, stopping, nowMs } = deps
  const headers = readHeadersOf(request, doorHeaders)
  const labels = addLabelHeaders(headers['Mediagen-Labels'], deps.labelHeaders, request.headers)
  const ceiling = await findCeiling(request, core, {
    header: headers['Mediagen-Max-Credits'],
    body: order.maxCredits,
    server: deps.maxCredits,
  })
  const generations = new Generations(core, { ...order, labels }, forwardFor(request, order.asUrls))
  const signal = patienceOf(reply, stopping)
  const start = { generations, ceiling, body: order.body }
  const fate: { isFinal: boolean | null } = { isFinal: null }
  const findEnd = (): End => {
    if (reply.raw.writableFinished) return (fate.isFinal ?? reply.statusCode === 200) ? 'answered' : 'unanswered'
    return deps.cancelOnDisconnect && !stopping.aborted ? 'abandoned' : 'unanswered'
  }
  const group = await startOnce(request, attempts, start, nowMs, (over) => whenClosed(reply, () => over(findEnd())))
  return Object.assign(fate, { generations, group, signal })
}

/** Waits until the jobs have ended. */
export async function awaitEnds({ generations, group, signal }: Begun, stopping: AbortSignal): Promise<Job[]> {
  return generations.awaitEnds(group, signal).catch((error: unknown) => {
    if (!stopping.aborted) throw error
    throw unfinished([])
  })
}

/** Checks what the order may cost, starts its jobs once, and waits until they have ended. Names them and their charge in headers. */
export async function fulfil(
  request: FastifyRequest,
  reply: FastifyReply,
  attempts: Attempts,
  deps: DoorDeps,
  order: DoorOrder,
): Promise<Job[]> {
  const begun = await begin(request, reply, attempts, deps, order)
  const jobs = await awaitEnds(begun, deps.stopping)
  if (haveFailed(jobs)) begun.isFinal = true
  addModelEnd(reply, begun.generations.modelEnd)
  reply.header('mediagen-job', jobs.map(({ jobId }) => jobId).join(', '))
  reply.header('mediagen-credits-charged', String(sumOf(jobs, 'charged')))
  const [first] = jobs
  if (first && jobs.every(({ receipt }) => receipt)) {
    const sums = { held: sumOf(jobs, 'held'), charged: sumOf(jobs, 'charged'), released: sumOf(jobs, 'released') }
    reply.header(
      'mediagen-receipt',
      toReceiptText({ ...sums, keyId: first.keyId }, jobs.length > 1 ? null : first.quoteId),
    )
  }
  return jobs
}

/** What was charged for the jobs, in credits. */
export function sumCharges(jobs: readonly Job[]): number {
  return Number(sumOf(jobs, 'charged'))
}

function sumOf(jobs: readonly Job[], name: 'held' | 'charged' | 'released'): bigint {
  return jobs.reduce((sum, { billing }) => sum + (billing?.[name] ?? 0n), 0n)
}

/** URLs that this server reads itself are below the core's own address, not below one that the client chose. */
function forwardFor(request: FastifyRequest, asUrls: boolean): CallOptions {
  const { headers } = forward(request)
  const { 'x-forwarded-host': host, ...others } = headers as Record<string, string>
  return { headers: asUrls && host !== undefined ? { ...others, 'x-forwarded-host': host } : others }
}
