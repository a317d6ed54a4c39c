// The operator's commands about jobs of all accounts.
import { type Command, Option } from 'commander'
import type { InspectJobResponse, JobSummary } from '../../../gen/mediagen/v1/admin_pb.ts'
import { jobStatuses, type JobStatus } from '../../core/jobs/job.ts'
import { pageBounds } from '../../core/page.ts'
import { toJobStatusCode, toJobStatusName } from '../../services/messages/job-message.ts'
import { parsePageLimit } from '../user/counts.ts'
import type { Printed } from '../user/print.ts'
import { addWideOption, changing, looking, toTime } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { findAccountFilter, readAccountNames, withAccounts } from './common/find-account.ts'
import { parseCredits } from './common/limit-options.ts'
import { countAll } from './common/words.ts'

const defaultLimit = 50
const columns = ['job_id', 'status', 'model', 'account', 'created_at']

interface ListOptions {
  readonly status?: JobStatus
  readonly account?: string
  readonly model?: string
  readonly limit: number
}

/** Adds the commands. */
export function addJobCommands(parent: Command): void {
  const jobs = parent.command('jobs').description('Jobs of all accounts')
  addWideOption(
    withExample(jobs.command('list'), '--status needs_review')
      .description('List jobs, newest first')
      .addOption(new Option('--status <status>', 'only jobs in this state').choices(jobStatuses))
      .option('--account <account>', 'only jobs of this account, by id or name')
      .option('--model <id>', 'only jobs of this model')
      .option('--limit <jobs>', `number of jobs, at most ${pageBounds.largestLimit}`, parsePageLimit, defaultLimit),
  ).action(
    looking(async ({ admin }, { status, account, model = '', limit }: ListOptions, _command: Command) => {
      const filter = status === undefined ? {} : { status: toJobStatusCode(status) }
      const accountId = await findAccountFilter(admin, account)
      const page = await admin.listAllJobs({ ...filter, accountId, model, limit })
      const names = await readAccountNames(admin)
      const json = page.jobs.map(toPrintedJob)
      return { json, rows: withAccounts(json, names), columns }
    }),
  )
  withExample(jobs.command('show <job_id>'), 'job_01m81n3ztpe00amzr9bbqb9r65')
    .description('Show what became of a job and of its credits, with what only operators see')
    .action(
      looking(async ({ admin }, jobId: string, _options: object, _command: Command) => ({
        json: toPrintedDetail(await admin.inspectJob({ jobId })),
      })),
    )
  withExample(jobs.command('resolve <job_id>'), 'job_01m81n3ztpe00amzr9bbqb9r65 --charge 40')
    .description('End a job that is under review: charge part of its hold, or release all of it')
    .option('--charge <credits>', 'credits to charge, at most the hold; the rest is released', parseCredits)
    .option('--release', 'release everything')
    .action((jobId: string, { charge, release }: { charge?: bigint; release?: boolean }, command: Command) => {
      const one = (charge !== undefined) !== (release === true)
      if (!one) command.error('error: give either --charge <credits> or --release')
      return changing(async ({ admin }, _command: Command) => {
        const { charged, released } = await admin.resolveJob({ jobId, charge: charge ?? 0n })
        return {
          json: { job_id: jobId, charged: Number(charged), released: Number(released) },
          words: `Ended ${jobId}: charged ${countAll(charged, 'credit')}, released ${countAll(released, 'credit')}.\n`,
        }
      })(command)
    })
}

function toPrintedJob(job: JobSummary): Printed {
  return {
    job_id: job.jobId,
    account_id: job.accountId,
    key_name: job.keyName ?? null,
    status: toJobStatusName(job.status),
    model: job.model,
    held: Number(job.billing?.held ?? 0),
    charged: Number(job.billing?.charged ?? 0),
    released: Number(job.billing?.released ?? 0),
    attempts: job.attempts,
    queue_position: job.queuePosition ?? null,
    created_at: toTime(job.createdAt),
    started_at: toTime(job.startedAt),
    finished_at: toTime(job.finishedAt),
    error: job.error?.code ?? null,
    key: job.keyId,
    labels: job.labels,
  }
}

function toPrintedDetail(seen: InspectJobResponse): Printed {
  const { job } = seen
  if (!job) return {}
  return {
    ...toPrintedJob(job),
    message: job.error?.message ?? null,
    progress: job.progress,
    outputs: job.outputs,
    cancel_requested: job.cancelRequested,
    priority: seen.priority,
    deadline_at: toTime(seen.deadlineAt),
    resumable: seen.resumable,
    after_loss: seen.afterLoss,
    max_attempts: seen.maxAttempts,
    lost_runs: seen.lostRuns,
    available_at: toTime(seen.availableAt),
    worker: seen.worker || null,
    lease_until: toTime(seen.leaseUntil),
    upstream_runs: seen.upstreamRuns.map((run) => ({
      n: run.n,
      provider: run.provider,
      upstream_id: run.upstreamId || null,
      verdict: run.verdict,
      submitted_at: toTime(run.submittedAt),
      ended_at: toTime(run.endedAt),
      cost: run.cost ?? null,
      cost_amount: run.costAmount ?? null,
      cost_currency: run.costCurrency ?? null,
    })),
  }
}
