// An answer as server-sent events: drafts of a picture while it is made, then the picture.
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Job } from '../../../gen/mediagen/v1/generation_pb.ts'
import { MediagenError, type Violation } from '../../core/errors.ts'
import { describeViolations } from '../../core/violations.ts'
import { leave, sendEvents } from '../../gateway/events.ts'
import { toOpenaiError } from '../../gateway/problems/openai-error.ts'
import { problemKinds } from '../../gateway/problems/problem-kinds.ts'
import { toMediagenError } from '../../gateway/problems/problem.ts'
import type { Attempts } from '../attempts.ts'
import { awaitEnds, begin, type Begun, type DoorDeps, type DoorOrder, sumCharges } from '../door.ts'
import { haveFailed, outputsOf } from '../outputs.ts'
import { describeImages } from './image-answer.ts'
import type { ImageBody } from './image-request.ts'

/** What a stream is of. */
export interface StreamOrder extends DoorOrder {
  /** What its events are named after. */
  readonly name: 'image_generation' | 'image_edit'
  /** The most drafts. */
  readonly partialImages: number
  /** The body of the request. */
  readonly fields: ImageBody
}

/**
 * The most drafts of the stream that a request asks for; null if it asks for none.
 * @throws MediagenError `invalid_request` that names what does not go together
 */
export function readStream(body: ImageBody): number | null {
  const { stream, partial_images: partialImages, n, response_format: format } = body
  const violations: Violation[] = []
  if (stream !== true && (partialImages ?? 0) > 0)
    violations.push({ pointer: '/partial_images', detail: 'must be 0 without stream: true' })
  if (stream === true && (n ?? 1) > 1) violations.push({ pointer: '/n', detail: 'must be 1 with stream: true' })
  if (stream === true && format === 'url')
    violations.push({ pointer: '/response_format', detail: 'must be b64_json with stream: true' })
  if (violations.length > 0) throw new MediagenError('invalid_request', describeViolations(violations), { violations })
  return stream === true ? (partialImages ?? 0) : null
}

/** Starts the job of a request, and answers with events. What is refused before its start is a problem as everywhere. */
export async function streamImage(
  request: FastifyRequest,
  reply: FastifyReply,
  attempts: Attempts,
  deps: DoorDeps,
  order: StreamOrder,
): Promise<FastifyReply> {
  const begun = await begin(request, reply, attempts, deps, order)
  const [job] = await begun.generations.find(begun.group)
  if (!job) throw new Error('the request has no job')
  // Until the last event is written.
  begun.isFinal = false
  reply.header('mediagen-job', job.jobId)
  return sendEvents(reply, Readable.from(toEvents(request, begun, deps, order, job)))
}

async function* toEvents(
  request: FastifyRequest,
  begun: Begun,
  deps: DoorDeps,
  { name, fields, partialImages }: StreamOrder,
  job: Job,
): AsyncGenerator<string> {
  const over = new AbortController()
  const ends = awaitEnds(begun, deps.stopping).finally(() => over.abort())
  // It may end while a draft is read.
  ends.catch(() => {})
  try {
    // The head is sent with the first bytes.
    yield ': started\n\n'
    let index = 0
    const { created: created_at, usage, ...draft } = describeImages(fields, [job], [])
    for await (const { b64_json, output_format } of readDrafts(begun, job.jobId, partialImages, over, deps)) {
      const type = `${name}.partial_image`
      yield toEvent(type, { type, b64_json, partial_image_index: index++, created_at, ...draft, output_format })
    }
    const jobs = await ends
    if (haveFailed(jobs)) begun.isFinal = true
    for (const output of outputsOf(jobs)) {
      const type = `${name}.completed`
      const { created: _created, ...final } = describeImages(fields, jobs, [output])
      const b64_json = await deps.readOutput(output)
      begun.isFinal = true
      yield toEvent(type, { type, b64_json, created_at, ...final, usage, credits_charged: sumCharges(jobs) })
    }
  } catch (thrown) {
    const error = toMediagenError(thrown)
    if (error.code === 'internal') deps.report(error.cause ?? error, request.id)
    yield toEvent('error', { type: 'error', error: toOpenaiError(error, problemKinds[error.code].http) })
  }
}

function toEvent(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}

/** The drafts of a job, until it has ended. There are none if its changes cannot be watched, by a key that may not for example. */
async function* readDrafts(
  { generations }: Begun,
  jobId: string,
  most: number,
  over: AbortController,
  { readOutput }: DoorDeps,
): AsyncGenerator<{ b64_json: string; output_format: string }> {
  if (most === 0) return
  const watch = new AbortController()
  const changes = generations.watch(jobId, AbortSignal.any([over.signal, watch.signal]))[Symbol.asyncIterator]()
  let shown = ''
  let count = 0
  try {
    while (count < most) {
      const next = await changes.next().catch(() => null)
      if (!next || next.done) return
      const { previewUrl: url = '' } = next.value.job ?? {}
      const path = url && new URL(url).pathname
      if (!path || path === shown) continue
      shown = path
      // A newer one may have replaced it.
      const b64_json = await readOutput({ url }).catch(() => null)
      if (b64_json === null) continue
      count += 1
      yield { b64_json, output_format: extname(path).slice(1).replace('jpg', 'jpeg') }
    }
  } finally {
    watch.abort()
    await leave(changes).catch(() => {})
  }
}
