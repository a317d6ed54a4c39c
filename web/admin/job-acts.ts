// What an operator does with jobs: cancel one, end a review.
import type { JobSummary } from '../../gen/mediagen/v1/admin_pb.ts'
import { JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { element } from '../element.ts'
import type { PageDeps } from './deps.ts'
import { openAct } from './dialog.ts'
import { creditsField, textField } from './fields.ts'
import { countOf, describeJobStatus, formatNumber } from './words.ts'

/** Whether a job can still be canceled. */
export function canCancel({ status, cancelRequested }: JobSummary): boolean {
  return status === JobStatus.QUEUED || (status === JobStatus.RUNNING && !cancelRequested)
}

/** Asks whether to cancel a job. */
export function openCancel({ admin, names }: PageDeps, job: JobSummary, done: () => void): void {
  const reason = textField({ label: 'Reason', optional: true, help: 'For the audit log.' })
  openAct({
    title: 'Cancel this job',
    intro: [
      `${job.model}, started by ${names.of(job.accountId)}.`,
      job.status === JobStatus.RUNNING
        ? 'It runs: it ends when its program stops, and its credits are returned, unless it succeeds first.'
        : 'It is queued: it ends at once, and its credits are returned.',
    ],
    fields: [reason],
    label: 'Cancel the job',
    isFinal: true,
    async run() {
      const { job: now } = await admin.cancelAnyJob({ jobId: job.jobId, reason: reason.read() })
      // Its end came first.
      if (now && now.status !== JobStatus.CANCELED && now.status !== JobStatus.RUNNING)
        return element('p', {}, `It had ended before: ${describeJobStatus(now.status).word}.`)
      return undefined
    },
    done,
  })
}

/** Asks whether to charge a job under review, and how much. */
export function openCharge({ admin, names }: PageDeps, job: JobSummary, done: () => void): void {
  const held = job.billing?.held ?? 0n
  const charge = creditsField({
    label: 'Credits to charge',
    value: held,
    least: 1n,
    most: held,
    help: `${countOf(held, 'credit')} ${held === 1n ? 'is' : 'are'} held; what is not charged is returned.`,
  })
  openAct({
    title: `Charge ${names.of(job.accountId)}`,
    intro: `${job.model} did run, as far as you know. It ends as succeeded, with the files that it has, and the review is over. This cannot be undone; a correction of the balance can give credits back.`,
    fields: [charge],
    label: 'Charge',
    isFinal: true,
    run: () => resolve(admin, job, charge.read() ?? 0n),
    done,
  })
}

/** Asks whether to return all credits of a job under review. */
export function openRelease({ admin, names }: PageDeps, job: JobSummary, done: () => void): void {
  openAct({
    title: `Return the credits to ${names.of(job.accountId)}`,
    intro: `All ${countOf(job.billing?.held ?? 0n, 'credit')} that ${job.model} holds are returned, the job ends as failed, and the review is over. This cannot be undone.`,
    label: 'Release',
    isFinal: true,
    run: () => resolve(admin, job, 0n),
    done,
  })
}

async function resolve(admin: PageDeps['admin'], { jobId }: JobSummary, charge: bigint): Promise<Node> {
  const { charged, released } = await admin.resolveJob({ jobId, charge })
  return element('p', {}, `The review is over: ${formatNumber(charged)} charged, ${formatNumber(released)} returned.`)
}
