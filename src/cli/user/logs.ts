// mediagen logs: the history of one job as lines, from its record, and from its events while it runs.
import { isTerminal, type Job } from '@mediagen/client/records.ts'
import type { Command } from 'commander'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { say } from './print.ts'
import { withServer } from './server.ts'
import { countCredits } from './words.ts'

/** What happened, and when: by the record where it says so, else when it was seen (ISO 8601). */
export interface LogLine {
  readonly at: string
  readonly event: string
  readonly detail: string
}

// Progress is a line for each tenth.
const steps = 10
const eventWidth = 'needs_review'.length

/** Adds the command. */
export function addLogsCommand(program: Command): void {
  program
    .command('logs <job_id>')
    .description('Show the history of a job of yours as lines, and follow it to its end; Ctrl-C leaves the job alone')
    .option('--no-follow', 'only what has happened until now')
    .option('--json', 'print a JSON document a line')
    .action(
      withServer(async ({ client }, jobId: string, options: { follow: boolean; json?: boolean }, _command: Command) => {
        let last: Job | null = null
        const show = (job: Job): void => {
          for (const line of describeChange(last, job, new Date().toISOString()))
            say(options.json ? `${JSON.stringify(line)}\n` : toText(line))
          last = job
        }
        const job = await client.job(jobId)
        show(job)
        if (options.follow && !isTerminal(job)) await client.follow(jobId, { onJob: show })
        return undefined
      }),
    )
}

function toText({ at, event, detail }: LogLine): string {
  return `${`${at}  ${event.padEnd(eventWidth)}  ${escapeHidden(detail)}`.trimEnd()}\n`
}

/**
 * What happened to a job between two of its records.
 * @param before null for all that the record of now still says
 * @param now what is seen only while it happens, happened then
 */
export function describeChange(before: Job | null, job: Job, now: string): readonly LogLine[] {
  return [...describeWait(before, job, now), ...describeRun(before, job, now), ...describeEnd(before, job, now)]
}

function* describeWait(before: Job | null, job: Job, now: string): Iterable<LogLine> {
  const { status, model, queue_position: position, billing, created_at, attempts } = job
  const place = position === null ? null : `place ${position}`
  if (!before)
    yield { at: created_at, event: 'queued', detail: list(model, `${countCredits(billing.held)} held`, place) }
  else if (status === 'queued' && before.status !== 'queued')
    yield { at: now, event: 'queued', detail: list(`again, after attempt ${attempts}`, place) }
  else if (status === 'queued' && place !== null && position !== before.queue_position)
    yield { at: now, event: 'queued', detail: place }
}

function* describeRun(before: Job | null, job: Job, now: string): Iterable<LogLine> {
  const { status, attempts, progress, started_at } = job
  if (started_at !== null && !before?.started_at) yield { at: started_at, event: 'started', detail: '' }
  if (status !== 'running') return
  const isNext = attempts > Math.max(1, before?.attempts ?? 0)
  const isFurther = toStep(progress) > (before?.attempts === attempts ? toStep(before.progress) : 0)
  if (isNext || isFurther)
    yield {
      at: now,
      event: 'running',
      detail: list(attempts > 1 && `attempt ${attempts}`, `${Math.floor(progress * 100)}%`),
    }
}

function* describeEnd(before: Job | null, job: Job, now: string): Iterable<LogLine> {
  const { status, billing, receipt, finished_at, deleted_at } = job
  const at = finished_at ?? now
  if (isTerminal(job) && status !== before?.status) {
    for (const output of job.outputs) yield { at, event: 'output', detail: describeOutput(output) }
    yield { at, event: status, detail: describeOutcome(job) }
  }
  if (receipt && !before?.receipt) {
    if (billing.charged > 0) yield { at, event: 'charged', detail: countCredits(billing.charged) }
    if (billing.released > 0) yield { at, event: 'returned', detail: countCredits(billing.released) }
  }
  if (deleted_at !== null && !before?.deleted_at) yield { at: deleted_at, event: 'deleted', detail: '' }
}

function describeOutcome({ error, served_by, attempts }: Job): string {
  if (error) return `${error.code}: ${error.message}`
  return list(served_by !== null && `by ${served_by}`, attempts > 1 && `attempt ${attempts}`)
}

function describeOutput(output: Job['outputs'][number]): string {
  const { content_type, width, height, duration_seconds: seconds, bytes, expired } = output
  return list(
    content_type,
    width !== null && `${width} × ${height}`,
    seconds !== null && `${seconds} s`,
    `${bytes} bytes`,
    expired && 'expired',
  )
}

function toStep(progress: number): number {
  return Math.floor(progress * steps)
}

function list(...parts: readonly (string | null | false)[]): string {
  return parts.filter(Boolean).join(', ')
}
