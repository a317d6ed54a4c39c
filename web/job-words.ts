// Texts about a job: its state, credits, sizes, times and file name.
import type { JobRecord, JobStatus, ModelRecord, OutputRecord } from './records.ts'

const statusWords: Readonly<Record<JobStatus, string>> = {
  queued: 'Queued',
  running: 'Working',
  succeeded: 'Done',
  failed: 'Failed',
  canceled: 'Canceled',
  expired: 'Expired',
  needs_review: 'In review',
}

/** Whether a job in this state still changes. */
export function isTerminal(status: JobStatus): boolean {
  return status !== 'queued' && status !== 'running'
}

// The largest queue position that is counted.
const lastQueuePosition = 100

export function describeStatus(job: Pick<JobRecord, 'status' | 'progress' | 'queue_position'>): string {
  if (job.queue_position === 1) return `${statusWords.queued}, next in line`
  if (job.queue_position !== null)
    return `${statusWords.queued}, place ${job.queue_position}${job.queue_position < lastQueuePosition ? '' : ' or later'}`
  if (job.status !== 'running' || job.progress <= 0) return statusWords[job.status]
  return `${statusWords.running}, ${Math.round(job.progress * 100)}%`
}

export function formatCredits(credits: number): string {
  return `${credits.toLocaleString('en-US')} ${credits === 1 ? 'credit' : 'credits'}`
}

/** Whether a model costs the same for every input: then its price summary is only the credits. */
export function isConstantPrice({ billing, summary, from_credits }: ModelRecord['pricing']): boolean {
  return billing === 'fixed' && summary === `${from_credits} ${from_credits === 1 ? 'credit' : 'credits'}`
}

/** A sentence about the credits. */
export function describeMoney({ status, billing }: Pick<JobRecord, 'status' | 'billing'>): string {
  const { held, charged, released } = billing
  if (status === 'needs_review' && charged === 0 && released === 0)
    return `${formatCredits(held)} held until an operator decides`
  if (!isTerminal(status)) return `${formatCredits(held)} held`
  if (charged === 0) return released > 0 ? `Nothing charged, ${formatCredits(released)} returned` : 'Nothing charged'
  return released > 0
    ? `${formatCredits(charged)} charged, ${released.toLocaleString('en-US')} returned`
    : `${formatCredits(charged)} charged`
}

/** Why a job ended without a result; null if it did not. */
export function explainEnd({ status, error }: Pick<JobRecord, 'status' | 'error'>): string | null {
  if (status === 'canceled') return 'This generation was canceled before it finished.'
  if (status === 'expired') return 'This generation reached its deadline while it was still queued.'
  if (status === 'needs_review' && error?.code === 'output_unsigned') return error.message
  if (status === 'needs_review')
    return 'It is not known whether the model finished. An operator will decide; nothing is charged until then.'
  if (status === 'failed') return error?.message ?? 'The model gave no reason.'
  return null
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`
}

export function formatSeconds(seconds: number): string {
  if (seconds < 0.1) return 'under 0.1 s'
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 60) return `${Math.round(seconds)} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

/** A duration as players show it: 0:07, 12:30. */
export function formatLength(seconds: number): string {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

/** The duration of the job; null until it has ended. */
export function tookSeconds(job: Pick<JobRecord, 'started_at' | 'finished_at'>): number | null {
  if (!job.started_at || !job.finished_at) return null
  return Math.max(0, (Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000)
}

/** "just now", "5 min ago", or a date. */
export function formatAge(time: string, nowMs: number): string {
  const minutes = Math.floor((nowMs - Date.parse(time)) / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`
  return new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
}

/** Facts about a file: its type, dimensions and size. */
export function describeOutput(output: OutputRecord): string {
  const facts = [output.content_type === 'audio/mpeg' ? 'MP3' : output.content_type.replace(/^\w+\//, '').toUpperCase()]
  if (output.width !== null && output.height !== null) facts.push(`${output.width} × ${output.height}`)
  if (output.duration_seconds !== null) facts.push(formatSeconds(output.duration_seconds))
  facts.push(formatBytes(output.bytes))
  return facts.join(' · ')
}

/** Until when a file is or was kept; empty if it is kept for ever. */
export function describeKept({ url, kept_until }: Pick<OutputRecord, 'url' | 'kept_until'>): string {
  if (kept_until === null) return ''
  const day = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const
  return `${url === null ? 'was kept' : 'kept'} until ${new Date(kept_until).toLocaleString('en-GB', day)}`
}

/** "team: ads", in the order of the names. */
export function describeLabels({ labels }: Pick<JobRecord, 'labels'>): string[] {
  return Object.entries(labels)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}: ${value}`)
}

/** A file name from the model and the job. */
export function toFileName(job: Pick<JobRecord, 'job_id' | 'model'>, output: OutputRecord, index: number): string {
  const subtype = output.content_type
    .replace(/^\w+\//, '')
    .replace(/[+;].*$/, '')
    .replace(/^x-/, '')
  const extension =
    ({ jpeg: 'jpg', mpeg: 'mp3', quicktime: 'mov', wave: 'wav' } as Record<string, string>)[subtype] ?? subtype
  const product = job.model.split('/').slice(-2, -1)[0] ?? 'media'
  return `${product}-${job.job_id.slice(-8)}${index > 0 ? `-${index + 1}` : ''}.${extension}`
}

/**
 * The URL from which this page fetches a file: loopback names are the same machine, so a file on 127.0.0.1 is fetched from
 * the page's own origin if that is localhost. Any other URL is unchanged.
 */
export function toLocalUrl(url: string, origin: string): string {
  const [file, page] = [URL.parse(url, origin), URL.parse(origin)]
  if (!file || !page) return url
  const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/
  if (!loopback.test(file.hostname) || !loopback.test(page.hostname) || file.port !== page.port) return url
  return page.origin + file.pathname + file.search
}
