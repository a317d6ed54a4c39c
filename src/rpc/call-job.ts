// The job that a call was about, for its line in the log.
import type { DescMethod } from '@bufbuild/protobuf'

/** Finds the job that an answered call was about; null for none. A stream has no response. */
export type FindJobId = (request: object, response: Answer | null) => string | null

interface Answer {
  readonly job?: { readonly jobId?: string }
}

/** Creates the finder of an rpc: the job of the response, else the one that the request names. */
export function createJobFinder({ input, output }: DescMethod): FindJobId {
  const named: FindJobId = input.field['jobId'] === undefined ? () => null : readJobId
  if (output.field['job']?.message?.field['jobId'] === undefined) return named
  return (request, response) => response?.job?.jobId ?? named(request, null)
}

/** Null for anything but one of our ids. */
function readJobId(request: object): string | null {
  const { jobId } = request as { jobId: string }
  return /^job_\w{1,40}$/.test(jobId) ? jobId : null
}
