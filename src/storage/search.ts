// Searches of jobs. They are read in pieces, so that none holds up other reads, and looked at here, so that every store finds the same.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Job } from '../core/jobs/job.ts'
import type { Page } from '../core/page.ts'
import { listTookTooLong } from '../core/storage-trouble.ts'
import type { JobFilter } from '../core/store.ts'
import { foldText, hasText } from '../core/text/search-text.ts'
import { orderOf } from './job-rows.ts'
import type { Turn } from './read-turns.ts'

/** How long a list may take. One that walks far must not occupy the server when nobody waits for it any more. */
export const mostListMs = 9000
/** Jobs of a piece, and characters of their inputs; at least one job. */
export const pieceBounds = { rows: 500, characters: 500_000 }

/** A list of jobs with a text in their inputs. */
export type SearchFilter = JobFilter & { readonly search: string }

/** A job that a search looks at; `input` is null if something else excludes it. */
export interface Candidate {
  readonly number: number
  readonly position: number
  readonly input: string | null
}

/** What a piece has: the numbers of jobs with the text, and where the next one begins; null after the last. */
export interface SearchPiece {
  readonly found: readonly number[]
  readonly next: number | null
}

export function isSearch(filter: JobFilter): filter is SearchFilter {
  return filter.search !== null
}

/** Selects the `Candidate`s before `:before`, the newest first. */
export function selectCandidates(filter: JobFilter): string {
  const { accountId, status, model, idempotencyKey, label = null, withDeleted } = filter
  const order = orderOf({ accountId, status: null })
  const which = ['TRUE']
  if (!withDeleted) which.push('deleted_at IS NULL')
  if (status !== null) which.push('status = :status')
  if (model !== null) which.push('model = :model')
  if (idempotencyKey !== null) which.push('idempotency_key = :idempotencyKey')
  if (label !== null) which.push(hasLabel)
  return `SELECT number, ${order} AS position, CASE WHEN ${which.join(' AND ')} THEN (
      SELECT coalesce(brief, input) FROM job_inputs WHERE job_inputs.number = jobs.number
    ) END AS input
    FROM jobs WHERE ${accountId === null ? '' : 'account_id = :accountId AND '}${order} < :before ORDER BY ${order} DESC LIMIT ${pieceBounds.rows}`
}

// Deleted jobs have no rows there.
const hasLabel = `EXISTS (SELECT 1 FROM job_labels
  WHERE account_id = jobs.account_id AND name = :labelName AND job_labels.value = :labelValue AND job_number = jobs.number)`

/** Values of statements about jobs with a label. */
export function toLabelValues({ label }: Pick<JobFilter, 'label'>) {
  return label ? { labelName: label.name, labelValue: label.value } : {}
}

/** The numbers of the jobs of an account with a label, as `job_number`: read backwards, the newest first. */
export const selectLabelled =
  'SELECT job_number FROM job_labels WHERE account_id = :accountId AND name = :labelName AND value = :labelValue'

/** The same of a page, where nothing else is asked of the jobs: those before it are passed in the index alone. */
export const selectLabelledPage = `${selectLabelled} ORDER BY job_number DESC LIMIT :limit OFFSET :skipped`

export function searchIn(candidates: Iterable<Candidate>, search: string): SearchPiece {
  const folded = foldText(search)
  const found: number[] = []
  let next: number | null = null
  let characters = 0
  for (const { number, position, input } of candidates) {
    if (input !== null && hasText(JSON.parse(input) as JsonObject, folded)) found.push(number)
    next = position
    characters += input?.length ?? 0
    if (characters >= pieceBounds.characters) break
  }
  return { found, next }
}

export interface SearchReads {
  readPiece(filter: SearchFilter, before: number): Promise<SearchPiece>
  /** The jobs, the newest first. */
  listByNumber(numbers: readonly number[]): Promise<readonly Job[]>
}

/**
 * Reads a page. Jobs that are started meanwhile are not in it.
 * @throws MediagenError `overloaded` when it takes too long, StorageError
 */
export async function searchJobs(
  { readPiece, listByNumber }: SearchReads,
  filter: SearchFilter,
  turn: Turn,
): Promise<Page<Job>> {
  const { limit, offset } = filter
  const endAt = performance.now() + mostListMs
  const page: number[] = []
  let total = 0
  for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null;) {
    if (performance.now() > endAt) throw listTookTooLong(mostListMs, null)
    const from: number = before
    const { found, next }: SearchPiece = await turn(() => readPiece(filter, from))
    const skipped = Math.max(0, offset - total)
    page.push(...found.slice(skipped, skipped + limit - page.length))
    total += found.length
    before = next
  }
  return { items: page.length === 0 ? [] : await turn(() => listByNumber(page)), total }
}
