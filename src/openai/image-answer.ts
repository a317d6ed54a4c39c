// Ended jobs as an answer of OpenAI's interface.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { type Job, JobStatus, type Output } from '../../gen/mediagen/v1/generation_pb.ts'
import { MediagenError } from '../core/errors.ts'
import { cutText } from '../core/log-text.ts'
import { record, string, url } from '../gateway/schema-fields.ts'
import type { ImageBody } from './image-request.ts'

const tokens = { type: 'integer' } as const

/** JSON Schema of the answer. */
export const imagesSchema = record('Images', "Pictures, as clients of OpenAI's interface read them.", {
  created: { type: 'integer', description: 'Seconds since 1970.' },
  data: {
    type: 'array',
    items: {
      title: 'Image',
      type: 'object',
      description: 'A picture: its bytes or its address.',
      properties: {
        b64_json: { ...string, description: 'Its bytes in base64.' },
        url: { ...url, description: 'Signed URL of it, which needs no key.' },
      },
    },
  },
  background: string,
  output_format: { ...string, description: 'Such as `png`.' },
  quality: string,
  size: { ...string, description: 'Width and height of the first picture.' },
  usage: record('ImageUsage', 'Zeros: credits are charged, not tokens.', {
    input_tokens: tokens,
    input_tokens_details: record('ImageInputTokens', 'Zeros.', { text_tokens: tokens, image_tokens: tokens }),
    output_tokens: tokens,
    total_tokens: tokens,
  }),
})

// Some clients throw pictures away whose usage is not whole.
const usage = {
  input_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
  output_tokens: 0,
  total_tokens: 0,
}

/**
 * The outputs of jobs after the wait. Where several were asked for, those that did not succeed are left out.
 * @throws MediagenError `generation_unfinished` if one has not ended, `generation_failed` if none succeeded
 */
export function outputsOf(jobs: readonly Job[]): readonly Output[] {
  const open = jobs.filter(({ status }) => isOpen(status))
  if (open.length > 0) throw unfinished(open)
  const succeeded = jobs.filter(({ status }) => status === JobStatus.SUCCEEDED)
  const [first] = jobs
  if (succeeded.length === 0 && first) throw failed(first)
  return succeeded.flatMap(({ outputs }) => outputs)
}

function isOpen(status: JobStatus): boolean {
  return status === JobStatus.QUEUED || status === JobStatus.RUNNING || status === JobStatus.NEEDS_REVIEW
}

/** The refusal of a wait that is over before the jobs are. */
export function unfinished(jobs: readonly Pick<Job, 'jobId' | 'status'>[]): MediagenError {
  const ids = jobs.map(({ jobId }) => jobId).join(', ')
  const state = jobs.some(({ status }) => status === JobStatus.NEEDS_REVIEW)
    ? 'under review by the operator'
    : 'still under way'
  return new MediagenError(
    'generation_unfinished',
    `The wait is over, and this is ${state}: ${ids}. GET /v1/jobs/{job_id} has the pictures once it has ended; the same request within ten minutes waits for it again.`,
  )
}

function failed({ jobId, error }: Job): MediagenError {
  const reason = error ? `${cutText(error.message)} (${error.code})` : 'it ended without pictures'
  return new MediagenError('generation_failed', `The job ${jobId} did not succeed: ${reason}. Nothing was charged.`)
}

/** Body of the answer, but for its pictures. */
export function describeImages(body: ImageBody, [job]: readonly Job[], [first]: readonly Output[]): object {
  const { quality, background } = body
  return {
    created: Math.floor((job?.createdAt ? timestampMs(job.createdAt) : 0) / 1000),
    background: typeof background === 'string' ? background : 'auto',
    output_format: first?.contentType.replace(/^image\//, '') ?? 'png',
    quality: typeof quality === 'string' ? quality : 'auto',
    size: first?.width && first.height ? `${first.width}x${first.height}` : 'auto',
    usage,
  }
}
