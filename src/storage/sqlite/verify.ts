// Checks every invariant of money over all data, page by page, while the server works.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JobStatus } from '../../core/job.ts'
import { isCredits, type EntryKind } from '../../core/ledger.ts'
import type { LedgerReport } from '../../core/store.ts'
import type { Connection } from './connection.ts'

// A page is one statement, so it is consistent; the main thread is free between pages. Pages of accounts are small, because each counts its jobs.
const pageSize = 1000
const accountPageSize = 20
const maxProblems = 100

interface AccountRow {
  readonly accountId: string
  readonly available: number
  readonly held: number
  readonly entryCount: number
  readonly jobCount: number
  readonly queuedJobs: number
  readonly lastEntry: number
  readonly lastAvailable: number
  readonly lastHeld: number
  readonly jobs: number
  readonly queued: number
  readonly unsettled: number
}

interface EntryRow {
  readonly accountId: string
  readonly number: number
  readonly kind: EntryKind
  readonly credits: number
  readonly availableAfter: number
  readonly heldAfter: number
  readonly jobOwner: string | null
}

interface JobMoneyRow {
  readonly number: number
  readonly jobId: string
  readonly status: JobStatus
  readonly held: number
  readonly charged: number
  readonly released: number
  readonly holdEntry: number
  readonly chargeEntry: number
  readonly releaseEntry: number
  readonly attempts: number
  readonly lostRuns: number
  readonly maxAttempts: number
  readonly leased: number
  readonly ended: number
  readonly waits: number
  readonly explained: number
  readonly begun: number
  readonly hasDeadline: number
  readonly resumable: number
}

const accountsSql = `
  SELECT a.account_id AS accountId, a.available, a.held, a.entry_count AS entryCount, a.job_count AS jobCount, a.queued_jobs AS queuedJobs,
    (SELECT coalesce(max(number), 0) FROM ledger_entries WHERE account_id = a.account_id) AS lastEntry,
    coalesce(e.available_after, 0) AS lastAvailable, coalesce(e.held_after, 0) AS lastHeld,
    (SELECT count(*) FROM jobs WHERE account_id = a.account_id) AS jobs,
    (SELECT count(*) FROM jobs WHERE account_id = a.account_id AND status = 'queued' AND status <> 'succeeded') AS queued,
    (SELECT coalesce(sum(credits_held), 0) FROM jobs
      WHERE account_id = a.account_id AND status IN ('queued', 'running', 'needs_review') AND status <> 'succeeded') AS unsettled
  FROM accounts AS a LEFT JOIN ledger_entries AS e ON e.account_id = a.account_id AND e.number = a.entry_count
  WHERE a.account_id > :after ORDER BY a.account_id LIMIT :limit`

const entriesSql = `
  SELECT e.account_id AS accountId, e.number, e.kind, e.credits, e.available_after AS availableAfter, e.held_after AS heldAfter, j.account_id AS jobOwner
  FROM ledger_entries AS e LEFT JOIN jobs AS j ON j.number = e.job_number
  WHERE (e.account_id, e.number) > (:accountId, :number) ORDER BY e.account_id, e.number LIMIT :limit`

const jobsSql = `
  SELECT j.number, j.job_id AS jobId, j.status, j.credits_held AS held, j.credits_charged AS charged, j.credits_released AS released,
    j.attempts, j.lost_runs AS lostRuns, j.max_attempts AS maxAttempts, j.resumable,
    j.lease_until IS NOT NULL AND j.worker IS NOT NULL AS leased, j.finished_at IS NOT NULL AS ended, j.available_at IS NOT NULL AS waits,
    j.error IS NOT NULL AS explained, j.started_at IS NOT NULL AS begun, j.deadline_at IS NOT NULL AS hasDeadline,
    (SELECT coalesce(sum(credits), 0) FROM ledger_entries WHERE job_number = j.number AND kind = 'hold') AS holdEntry,
    (SELECT coalesce(sum(credits), 0) FROM ledger_entries WHERE job_number = j.number AND kind = 'charge') AS chargeEntry,
    (SELECT coalesce(sum(credits), 0) FROM ledger_entries WHERE job_number = j.number AND kind = 'release') AS releaseEntry
  FROM jobs AS j WHERE j.number > :after ORDER BY j.number LIMIT :limit`

/** Creates the check of the whole ledger. Its report lists the first hundred problems and counts the rest. */
export function createLedgerVerifier(db: Connection): () => Promise<LedgerReport> {
  const accountPage = db.prepare<{ after: string; limit: number }, AccountRow>(accountsSql)
  const entryPage = db.prepare<{ accountId: string; number: number; limit: number }, EntryRow>(entriesSql)
  const jobPage = db.prepare<{ after: number; limit: number }, JobMoneyRow>(jobsSql)

  return async function verifyLedger() {
    const problems = createProblemList()
    const accounts = await eachPage<AccountRow>(
      accountPageSize,
      (last, limit) => accountPage.all({ after: last?.accountId ?? '', limit }),
      (row) => checkAccount(row, problems.add),
    )
    const checkEntry = createChainCheck(problems.add)
    const entries = await eachPage<EntryRow>(
      pageSize,
      (last, limit) => entryPage.all({ accountId: last?.accountId ?? '', number: last?.number ?? 0, limit }),
      checkEntry,
    )
    const jobs = await eachPage<JobMoneyRow>(
      pageSize,
      (last, limit) => jobPage.all({ after: last?.number ?? 0, limit }),
      (row) => checkJob(row, problems.add),
    )
    return { accounts, entries, jobs, ...problems.lists() }
  }
}

async function eachPage<Row>(
  limit: number,
  read: (last: Row | undefined, limit: number) => readonly Row[],
  check: (row: Row) => void,
): Promise<number> {
  let count = 0
  let page: readonly Row[] = []
  do {
    page = read(page.at(-1), limit)
    for (const row of page) check(row)
    count += page.length
    await nextTurn()
  } while (page.length === limit)
  return count
}

/** Adds a problem and how an operator can repair it. */
type Report = (problem: string, repair: string) => void

function checkAccount(row: AccountRow, report: Report): void {
  const { accountId, available, held } = row
  if (!isCredits(available) || !isCredits(held) || !isCredits(available + held))
    report(`account ${accountId}: the balance ${available} + ${held} is out of range`, restoreBackup)
  if (row.entryCount !== row.lastEntry)
    report(
      `account ${accountId}: counts ${row.entryCount} entries, but the last is number ${row.lastEntry}`,
      restoreBackup,
    )
  if (available !== row.lastAvailable || held !== row.lastHeld) {
    report(
      `account ${accountId}: the balance is ${available} + ${held} held, but its last entry left ${row.lastAvailable} + ${row.lastHeld}`,
      `the entries are the truth: with the server stopped, set the balance to ${row.lastAvailable} + ${row.lastHeld} held, then verify again`,
    )
  }
  if (held !== row.unsettled)
    report(
      `account ${accountId}: ${held} credits are held, but its unsettled jobs hold ${row.unsettled}`,
      `look at \`mediagen jobs list --account ${accountId}\`: a job without its entry is named below; when none is, \`mediagen credits adjust\` can give ${held - row.unsettled} credits back as available`,
    )
  if (row.jobCount !== row.jobs)
    report(`account ${accountId}: counts ${row.jobCount} jobs, but has ${row.jobs}`, recount('job_count', row.jobs))
  if (row.queuedJobs !== row.queued)
    report(
      `account ${accountId}: counts ${row.queuedJobs} queued jobs, but has ${row.queued}`,
      recount('queued_jobs', row.queued),
    )
}

const restoreBackup =
  'the file was changed past the server or is damaged: keep a copy of it, compare with the last backup, restore that if nothing explains the difference'

function recount(column: string, count: number): string {
  return `no credits are touched: with the server stopped, set ${column} of the account to ${count}`
}

// The effect of each kind of entry on available and held, per credit.
const effects = {
  grant: [1, 0],
  adjust: [1, 0],
  hold: [-1, 1],
  charge: [0, -1],
  release: [1, -1],
} as const satisfies Record<EntryKind, readonly [number, number]>

/** Replays the entries of each account: the balance after each is the sum of all up to it. */
function createChainCheck(report: Report): (row: EntryRow) => void {
  let accountId = ''
  let number = 0
  let available = 0
  let held = 0
  return (row) => {
    if (row.accountId !== accountId) [accountId, number, available, held] = [row.accountId, 0, 0, 0]
    const name = `account ${accountId}, entry ${row.number}`
    if (row.number !== number + 1) report(`${name}: follows entry ${number}`, restoreBackup)
    const [toAvailable, toHeld] = effects[row.kind]
    const expectedAvailable = available + toAvailable * row.credits
    const expectedHeld = held + toHeld * row.credits
    if (row.availableAfter !== expectedAvailable || row.heldAfter !== expectedHeld) {
      report(
        `${name}: ${row.kind} of ${row.credits} leaves ${row.availableAfter} + ${row.heldAfter} held, but ${expectedAvailable} + ${expectedHeld} would be right`,
        `find out which of the two is true; entries are never changed, so make up for ${expectedAvailable - row.availableAfter} available credits with \`mediagen credits adjust --account ${accountId}\` and say why in its note`,
      )
    }
    const ofJob = toHeld !== 0
    if (ofJob && row.jobOwner !== accountId) report(`${name}: ${row.kind} without a job of this account`, restoreBackup)
    if (!ofJob && row.jobOwner !== null) report(`${name}: ${row.kind} with a job`, restoreBackup)
    number = row.number
    available = row.availableAfter
    held = row.heldAfter
  }
}

function checkJob(row: JobMoneyRow, report: Report): void {
  const { jobId, status, held, charged, released } = row
  const unsettled = status === 'queued' || status === 'running' || status === 'needs_review'
  const expected = unsettled ? 0 : held
  const look = `see \`mediagen jobs show ${jobId}\``
  if (charged < 0 || released < 0 || charged + released !== expected)
    report(
      `job ${jobId}: is ${status} and holds ${held}, but charged ${charged} and released ${released}`,
      `${look}; the entries of the ledger say what moved: ${row.chargeEntry} charged, ${row.releaseEntry} released`,
    )
  if (charged > 0 && status !== 'succeeded')
    report(
      `job ${jobId}: is ${status}, but charged ${charged}`,
      `${look}; if the ledger has the charge, give ${charged} credits back with \`mediagen credits adjust\``,
    )
  if (row.holdEntry !== held) report(`job ${jobId}: holds ${held}, but the ledger says ${row.holdEntry}`, restoreBackup)
  if (row.chargeEntry !== charged)
    report(
      `job ${jobId}: charged ${charged}, but the ledger says ${row.chargeEntry}`,
      `the ledger is the truth; ${differenceOf(row.chargeEntry - charged)}`,
    )
  if (row.releaseEntry !== released)
    report(
      `job ${jobId}: released ${released}, but the ledger says ${row.releaseEntry}`,
      `the ledger is the truth; ${differenceOf(released - row.releaseEntry)}`,
    )
  checkPath(row, (problem) => report(`job ${jobId}: ${problem}`, `no credits are touched: ${look}`))
}

function differenceOf(owed: number): string {
  if (owed > 0)
    return `if the job is right, the account is owed ${owed} credits: \`mediagen credits adjust\` gives them`
  return 'if the job is right, the account has too many credits; letting it keep them does no harm to the books'
}

/** Checks the consistency of a job's state and its runs. */
function checkPath(row: JobMoneyRow, report: (problem: string) => void): void {
  const { status, attempts, lostRuns } = row
  const active = status === 'queued' || status === 'running'
  if (lostRuns > attempts || lostRuns > row.maxAttempts)
    report(`lost ${lostRuns} runs of ${attempts} begun, and may lose ${row.maxAttempts}`)
  if (row.leased !== Number(status === 'running'))
    report(`is ${status}, ${row.leased === 1 ? 'with' : 'without'} a worker`)
  if (row.ended !== Number(!active)) report(`is ${status}, ${row.ended === 1 ? 'with' : 'without'} an end`)
  if (row.begun !== Number(attempts > 0))
    report(`began ${attempts} runs, ${row.begun === 1 ? 'with' : 'without'} a start`)
  if (row.waits === 1 && status !== 'queued') report(`is ${status}, but waits for another run`)
  if (['failed', 'canceled', 'expired', 'needs_review'].includes(status) && row.explained === 0)
    report(`is ${status}, but does not say why`)
  if (status === 'expired' && (row.hasDeadline === 0 || attempts > 0))
    report(`is expired, ${row.hasDeadline === 1 ? 'but began' : 'without a deadline'}`)
  if (status === 'needs_review' && row.resumable === 1) report('is under review, though it could have been run again')
}

function createProblemList() {
  const first: { problem: string; repair: string }[] = []
  let more = 0
  const add: Report = (problem, repair) => {
    if (first.length < maxProblems) first.push({ problem, repair })
    else more += 1
  }
  return {
    add,
    lists(): { problems: readonly string[]; repairs: readonly string[] } {
      const problems = first.map(({ problem }) => problem)
      const repairs = first.map(({ repair }) => repair)
      if (more === 0) return { problems, repairs }
      return { problems: [...problems, `and ${more} more`], repairs: [...repairs, 'begin with those above'] }
    },
  }
}
