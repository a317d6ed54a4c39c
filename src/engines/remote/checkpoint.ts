// The checkpoint of a remote run: the state of its submission. It contains no secrets and no signed URLs.
import { createHash } from 'node:crypto'
import { type JsonObject, type JsonValue, OutcomeUnknown } from '@mediagen/engine/engine.ts'
import type { Candidate, UpstreamRef } from './backend.ts'

const version = 1
const states = ['idle', 'submitting', 'submitted', 'fetching'] as const

/**
 * How far a job has got: nothing is under way (`idle`), a submission may have been sent, was accepted, or succeeded and its
 * files are fetched. Without a `ref`, those came with the answer and are lost.
 */
export interface RemoteCheckpoint {
  readonly state: (typeof states)[number]
  /** Which of the model and its fallbacks, from 0. */
  readonly at: number
  readonly provider: string
  /** Counts submissions. */
  readonly n: number
  /** The mark by which the submission is recognised. */
  readonly key: string
  /** When the job was first submitted, in milliseconds since 1970; null before. */
  readonly since: number | null
  readonly ref: UpstreamRef | null
  /** Ids of earlier submissions of the job that were accepted. */
  readonly past: readonly string[]
}

/**
 * The checkpoint that a run begins with. A job without a submission under way is not bound to a provider: if the catalog no longer
 * names that one, the job begins with the first again.
 * @throws OutcomeUnknown if another version of this program wrote it
 */
export function openCheckpoint(value: JsonValue, candidates: readonly Candidate[]): RemoteCheckpoint {
  const providers = candidates.map(({ connection }) => connection.provider)
  const first = { at: 0, provider: providers[0] ?? '' }
  const note = readCheckpoint(value)
  if (!note) return { state: 'idle', ...first, n: 0, key: '', since: null, ref: null, past: [] }
  return note.state === 'idle' && providers[note.at] !== note.provider ? { ...note, ...first } : note
}

export function toCheckpoint(note: RemoteCheckpoint): JsonObject {
  return { v: version, ...note, past: [...note.past] }
}

/**
 * Reads a checkpoint; null if there is none.
 * @throws OutcomeUnknown if another version of this program wrote it
 */
export function readCheckpoint(value: JsonValue): RemoteCheckpoint | null {
  if (value === null) return null
  const note = value as unknown as RemoteCheckpoint & { readonly v: unknown }
  if (note.v !== version || !states.includes(note.state))
    throw new OutcomeUnknown('The checkpoint was written by another version of this program.')
  const { v: _, ...rest } = note
  return rest
}

/** The id of a submission that we choose: a lower-case UUID that depends on the job and the number of the submission alone. */
export function toSubmissionId(jobId: string, n: number): string {
  const hex = createHash('sha256').update(`${jobId}/${n}`).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
