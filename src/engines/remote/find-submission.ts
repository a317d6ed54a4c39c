// Finds the outcome of a submission whose answer was lost.
import type { FoundSubmission } from '@mediagen/engine/provider-share.ts'
import type { Candidate, UpstreamRef } from './backend.ts'
import type { RemoteCheckpoint } from './checkpoint.ts'
import { toNoVerdict } from './connection.ts'

/** The submissions of all jobs, as the store knows them. */
export interface SubmissionMemory {
  /** The id of a submission whose answer was lost: from the provider's callback, or found before; null if it is unknown. */
  readonly findKnownId: (jobId: string, n: number) => Promise<string | null>
  /** Whether another job was submitted under this id. */
  readonly isTaken: (provider: string, upstreamId: string, jobId: string) => Promise<boolean>
  /** Makes an id the job's; false if another job was faster. */
  readonly adopt: (found: FoundSubmission) => Promise<boolean>
}

/** The result of the search: the run, `absent` if another may be submitted, or null with the reason. */
export interface SearchedSubmission {
  readonly ref: UpstreamRef | 'absent' | null
  readonly words: string
  /** Whether one run was found that may belong to another job whose answer is still awaited. */
  readonly isContested: boolean
}

/** Adopts a run only if exactly one run at the provider can be the submission, and no other job has it. */
export async function findSubmission(
  { backend, ...place }: Candidate,
  { key, since, n, past }: RemoteCheckpoint,
  jobId: string,
  deps: SubmissionMemory & { readonly nowMs: () => number },
): Promise<SearchedSubmission> {
  const { provider } = place.connection
  try {
    const knownId = await deps.findKnownId(jobId, n)
    const found = await backend.find(place, { key, sinceMs: since ?? deps.nowMs(), knownId })
    if (found === 'absent') return { ref: found, isContested: false, words: '' }
    const free: UpstreamRef[] = []
    for (const ref of found)
      if (!past.includes(ref.id) && !(await deps.isTaken(provider, ref.id, jobId))) free.push(ref)
    const [one] = free.length === 1 ? free : []
    const only = one && (await deps.adopt({ jobId, n, provider, upstreamId: one.id })) ? one : null
    return {
      ref: only,
      isContested: one !== undefined && only === null,
      words: `${provider} has ${free.length === 1 ? '1 run' : `${free.length} runs`} that may be the job’s`,
    }
  } catch (error) {
    return { ref: null, isContested: false, words: toNoVerdict(error, place.connection).message }
  }
}
