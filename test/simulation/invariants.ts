// What holds after every step, whatever happened: read from the tables themselves, checked by plain arithmetic.
import type { World } from './world.ts'

/** What a job's row says. */
export interface JobLine {
  readonly job_id: string
  readonly account_id: string
  readonly model: string
  readonly status: string
  readonly credits_held: number
  readonly credits_charged: number
  readonly credits_released: number
  readonly progress: number
  readonly attempts: number
  readonly token: number
  readonly lost_runs: number
  readonly max_attempts: number
  readonly after_loss: string
  readonly lease_until: number | null
  readonly worker: string | null
  readonly deadline_at: number | null
  readonly created_at: number
  readonly started_at: number | null
  readonly finished_at: number | null
  readonly available_at: number | null
  readonly sequence: number
  readonly error: string | null
}

interface AccountLine {
  readonly account_id: string
  readonly available: number
  readonly held: number
  readonly queued_jobs: number
}

const settled = new Set(['succeeded', 'failed', 'canceled', 'expired'])
const followers: Readonly<Record<string, readonly string[]>> = {
  queued: ['running', 'canceled', 'expired'],
  running: ['succeeded', 'failed', 'canceled', 'queued', 'needs_review'],
  needs_review: ['succeeded', 'failed', 'queued'],
}

/** Checks a world after each step, and remembers what it saw. */
export interface Watcher {
  /** Credits that came from outside. */
  grant(accountId: string, credits: number): void
  /** Throws an Error that says what no longer holds. */
  check(): Promise<readonly JobLine[]>
}

/** Creates a watcher of one world. */
export function createWatcher(world: World): Watcher {
  const granted = new Map<string, number>()
  const seen = new Map<string, { line: JobLine; text: string }>()
  let checked = { changes: '', jobs: [] as readonly JobLine[] }

  function expect(holds: boolean, what: string): void {
    if (!holds) throw new Error(what)
  }

  function checkAccount({ account_id, available, held, queued_jobs }: AccountLine, jobs: readonly JobLine[]): void {
    expect(available >= 0 && held >= 0, `${account_id} has ${available} + ${held}`)
    const mine = jobs.filter((job) => job.account_id === account_id)
    const charged = mine.reduce((sum, job) => sum + job.credits_charged, 0)
    const given = granted.get(account_id) ?? 0
    expect(available + held + charged === given, `${account_id}: ${available} + ${held} + ${charged} is not ${given}`)
    const open = mine.filter(({ status }) => !settled.has(status)).reduce((sum, job) => sum + job.credits_held, 0)
    expect(held === open, `${account_id}: ${held} held, but its jobs hold ${open}`)
    expect(
      queued_jobs === mine.filter(({ status }) => status === 'queued').length,
      `${account_id}: queued jobs miscounted`,
    )
  }

  function checkChange(job: JobLine, before: JobLine): void {
    const name = `${job.job_id} (${before.status} to ${job.status})`
    expect(!settled.has(before.status), `${name}: a settled job changed`)
    const moved = job.status !== before.status
    expect(!moved || followers[before.status]?.includes(job.status) === true, `${name}: is no path`)
    expect(job.attempts >= before.attempts && job.token >= before.token, `${name}: attempts or token went back`)
    expect(job.sequence >= before.sequence, `${name}: sequence went back`)
    if (before.status === 'running' && before.after_loss === 'never')
      expect(job.status !== 'queued' && job.lost_runs === before.lost_runs, `${name}: what may cost twice runs twice`)
    if (moved) expect(job.sequence > before.sequence, `${name}: the change is not told`)
    if (!moved && job.status === 'running' && job.token === before.token)
      expect(job.progress >= before.progress, `${name}: progress went back`)
  }

  function checkJob(job: JobLine): void {
    const name = `${job.job_id} (${job.status})`
    const { credits_held: held, credits_charged: charged, credits_released: released } = job
    expect(charged <= held && charged >= 0, `${name}: charged ${charged} of ${held}`)
    expect(
      charged + released === (settled.has(job.status) ? held : 0),
      `${name}: settled ${charged} + ${released} of ${held}`,
    )
    expect(charged === 0 || job.status === 'succeeded', `${name}: was charged`)
    const running = job.status === 'running'
    expect(running === (job.lease_until !== null && job.worker !== null), `${name}: lease ${job.lease_until}`)
    expect(job.lost_runs <= job.attempts && job.lost_runs <= job.max_attempts, `${name}: lost ${job.lost_runs} runs`)
    expect(job.status !== 'queued' || job.after_loss !== 'never', `${name}: is queued, though nobody knows`)
    const doubted = job.after_loss === 'never' && job.error !== null
    expect(job.status !== 'needs_review' || doubted, `${name}: needs no review`)
    expect(job.status !== 'expired' || (job.deadline_at !== null && job.attempts === 0), `${name}: cannot expire`)
    expect(job.available_at === null || job.status === 'queued', `${name}: waits`)
    const { created_at: created, started_at: started, finished_at: finished } = job
    expect((started ?? created) >= created, `${name}: began at ${started}, before it was made`)
    expect((finished ?? Infinity) >= (started ?? created), `${name}: ended at ${finished}, before it began`)
    expect((job.status === 'succeeded') === (job.progress === 1), `${name}: progress ${job.progress}`)
  }

  return {
    grant: (accountId, credits) => void granted.set(accountId, (granted.get(accountId) ?? 0) + credits),
    async check() {
      // Most steps change nothing: what was checked still holds.
      const changes = world.changes()
      if (changes === checked.changes) return checked.jobs
      const jobs = await world.rows<JobLine>(
        `SELECT job_id, account_id, model, status, credits_held, credits_charged, credits_released, progress, attempts, token, lost_runs, max_attempts,
           after_loss, lease_until, worker, deadline_at, created_at, started_at, finished_at, available_at, sequence, error FROM jobs ORDER BY number`,
      )
      for (const line of jobs) {
        const before = seen.get(line.job_id)
        const text = JSON.stringify(line)
        if (before?.text === text) continue
        checkJob(line)
        if (before) checkChange(line, before.line)
        else expect(line.status === 'queued', `${line.job_id} began ${line.status}`)
        seen.set(line.job_id, { line, text })
      }
      expect(jobs.length === seen.size, 'a job vanished')
      const accounts = await world.rows<AccountLine>('SELECT account_id, available, held, queued_jobs FROM accounts')
      for (const account of accounts) checkAccount(account, jobs)
      checked = { changes, jobs }
      return jobs
    },
  }
}
