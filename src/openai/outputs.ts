// The outputs of jobs, and their bytes for answers that carry them.
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type Job, JobStatus, type Output } from '../../gen/mediagen/v1/generation_pb.ts'
import { MediagenError } from '../core/errors.ts'
import { cutText } from '../core/text/log-text.ts'
import type { BlobContent, Blobs } from '../files/blobs/blobs.ts'

/** Opens the content of an output. */
export type OpenOutput = (output: Pick<Output, 'url'>) => Promise<BlobContent>

/** Reads an output as base64. */
export type ReadOutput = (output: Pick<Output, 'url'>) => Promise<string>

/** Reads outputs. */
export function createOutputReader(open: OpenOutput): ReadOutput {
  return async (output) => (await buffer(await open(output))).toString('base64')
}

/**
 * Opens outputs where this process serves the files, else from where the core serves them.
 * @param blobs the files; undefined in front of a core elsewhere
 */
export function createOutputOpener(blobs: Pick<Blobs, 'open'> | undefined): OpenOutput {
  return async ({ url }) => {
    if (blobs) {
      const content = await blobs.open(decodeURIComponent(new URL(url).pathname.replace(/^\/assets\//, '')))
      if (content) return content
    }
    const answer = await fetch(url)
    if (!answer.ok || !answer.body) throw new Error(`the core answered ${answer.status} for an output`)
    return Readable.from(answer.body)
  }
}

/**
 * The outputs of jobs after the wait. Where several were asked for, those that did not succeed are left out.
 * @throws MediagenError `generation_unfinished` if one has not ended, `generation_failed` or `invalid_media` if none succeeded
 */
export function outputsOf(jobs: readonly Job[]): readonly Output[] {
  const open = jobs.filter(({ status }) => isOpen(status))
  if (open.length > 0) throw unfinished(open)
  const succeeded = jobs.filter(({ status }) => status === JobStatus.SUCCEEDED)
  const [first] = jobs
  if (succeeded.length === 0 && first) throw failed(first)
  return succeeded.flatMap(({ outputs }) => outputs)
}

/** Whether all jobs have ended, and none succeeded. */
export function haveFailed(jobs: readonly Job[]): boolean {
  return !jobs.some(({ status }) => isOpen(status) || status === JobStatus.SUCCEEDED)
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
    `The wait is over, and this is ${state}: ${ids}. GET /v1/jobs/{job_id} has the outputs once it has ended; the same request within ten minutes waits for it again.`,
  )
}

function failed({ jobId, error }: Job): MediagenError {
  const reason = error ? `${cutText(error.message)} (${error.code})` : 'it ended without outputs'
  // What the client sent cannot be read: not a failure of this server.
  const code = error?.code === 'invalid_media' ? error.code : 'generation_failed'
  return new MediagenError(code, `The job ${jobId} did not succeed: ${reason}. Nothing was charged.`)
}
