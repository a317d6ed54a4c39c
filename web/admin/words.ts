// Values as the operator's console writes them: numbers, times, states, permissions.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { AccountStatus } from '../../gen/mediagen/v1/admin_pb.ts'
import { JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { Permission } from '../../gen/mediagen/v1/options_pb.ts'
import { element } from '../element.ts'
import { formatAge } from '../job-words.ts'

/** "1,234". */
export function formatNumber(count: number | bigint): string {
  return count.toLocaleString('en-US')
}

/** "1 key", "1,234 keys". */
export function countOf(count: number | bigint, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${Number(count) === 1 ? one : many}`
}

/** "28 Nov 2026, 17:05:09", in the reader's time zone. */
export function formatTime(time: Timestamp): string {
  return timestampDate(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}

/** "28 Nov 2026". */
export function formatDay(time: Timestamp): string {
  return timestampDate(time).toLocaleDateString('en-GB', { dateStyle: 'medium' })
}

/** A time, how long ago it was, and exactly when. */
export function timeOf(time: Timestamp | undefined, none = '–'): HTMLElement {
  if (!time) return element('span', { class: 'soft' }, none)
  const iso = timestampDate(time).toISOString()
  return element(
    'time',
    { class: 'moment', datetime: iso, title: iso },
    element('span', {}, formatDistance(time)),
    element('span', { class: 'fine' }, formatTime(time)),
  )
}

/** How far a time is from now: "5 min ago", "in 3 h", or its day. */
export function formatDistance(time: Timestamp): string {
  const at = timestampDate(time)
  const ahead = at.getTime() - Date.now()
  return ahead <= 0 ? formatAge(at.toISOString(), Date.now()) : `in ${formatDuration(ahead / 1000)}`
}

/** "3 s", "5 min", "2 h", "4 days". */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return 'under 1 s'
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`
  return countOf(Math.round(seconds / 86_400), 'day')
}

/** An id, whole but small. */
export function codeOf(id: string): HTMLElement {
  return element('code', { class: 'id' }, id)
}

/** How a state is shown: its word, and whether it is well. */
export interface StateWords {
  readonly word: string
  readonly tone: 'good' | 'bad' | 'busy' | 'still'
}

/** A state as a badge. */
export function badge({ word, tone }: StateWords): HTMLElement {
  return element('span', { class: `badge ${tone}` }, word)
}

const jobStates: { readonly [status in JobStatus]: StateWords } = {
  [JobStatus.UNSPECIFIED]: { word: 'unknown', tone: 'still' },
  [JobStatus.QUEUED]: { word: 'queued', tone: 'still' },
  [JobStatus.RUNNING]: { word: 'running', tone: 'busy' },
  [JobStatus.SUCCEEDED]: { word: 'succeeded', tone: 'good' },
  [JobStatus.FAILED]: { word: 'failed', tone: 'bad' },
  [JobStatus.CANCELED]: { word: 'canceled', tone: 'still' },
  [JobStatus.EXPIRED]: { word: 'expired', tone: 'still' },
  [JobStatus.NEEDS_REVIEW]: { word: 'in review', tone: 'bad' },
}

/** The state of a job in words. */
export function describeJobStatus(status: JobStatus): StateWords {
  return jobStates[status] ?? jobStates[JobStatus.UNSPECIFIED]
}

/** The states that a job can have, with how a filter writes them. */
export const jobFilters: readonly (readonly [string, JobStatus])[] = [
  JobStatus.QUEUED,
  JobStatus.RUNNING,
  JobStatus.SUCCEEDED,
  JobStatus.FAILED,
  JobStatus.CANCELED,
  JobStatus.EXPIRED,
  JobStatus.NEEDS_REVIEW,
].map((status) => [describeJobStatus(status).word, status])

/** The state of an account in words. */
export function describeAccountStatus(status: AccountStatus): StateWords {
  if (status === AccountStatus.FROZEN) return { word: 'frozen', tone: 'bad' }
  return status === AccountStatus.CLOSED ? { word: 'closed', tone: 'still' } : { word: 'active', tone: 'good' }
}

/** What a key may do: how it is written, in words, and whether everyday keys have it. */
export const permissionWords: readonly {
  readonly permission: Permission
  readonly name: string
  readonly words: string
  readonly isEveryday: boolean
}[] = [
  { permission: Permission.GENERATE, name: 'generate', words: 'price, start, cancel and delete', isEveryday: true },
  { permission: Permission.MODELS_READ, name: 'models:read', words: 'see models', isEveryday: true },
  { permission: Permission.JOBS_READ, name: 'jobs:read', words: 'see jobs of the account', isEveryday: true },
  { permission: Permission.WALLET_READ, name: 'wallet:read', words: 'see credits, usage and keys', isEveryday: true },
  { permission: Permission.WEBHOOKS, name: 'webhooks', words: 'register webhooks', isEveryday: false },
  { permission: Permission.KEYS_WRITE, name: 'keys:write', words: 'make, limit and revoke keys', isEveryday: false },
  { permission: Permission.ADMIN, name: 'admin', words: 'administer this server, as here', isEveryday: false },
]

/** The permissions of a key, as they are written. */
export function namePermissions(permissions: readonly Permission[]): string {
  return permissions.map((one) => permissionWords.find(({ permission }) => permission === one)?.name ?? one).join(', ')
}
