// The checks of the ledger: the rules for credits and job states, with a message and a repair for each violation. A store
// loads the rows.
import type { AfterLoss } from '@mediagen/engine/engine.ts'
import type { JobStatus } from '../jobs/job.ts'
import type { LedgerReport } from '../store.ts'
import { type ChainedEntry, createLedgerRoot, hashEntry } from './ledger-chain.ts'
import { type EntryKind, isCredits } from './ledger.ts'

const maxProblems = 100
// The last that a Date has.
const latestTimeMs = 8.64e15

/** An account, with the sums over its entries and its jobs. */
export interface AccountFacts {
  readonly accountId: string
  readonly available: number
  readonly held: number
  readonly entryCount: number
  /** Of all that it ever started. */
  readonly jobCount: number
  readonly forgottenCount: number
  /** The newest ordinal that was forgotten. */
  readonly forgottenUpTo: number
  readonly queuedJobs: number
  readonly lastEntry: number
  readonly lastAvailable: number
  readonly lastHeld: number
  /** The hash of the last entry, as the account and as that entry has it. */
  readonly ledgerHead: string | null
  readonly lastHash: string | null
  readonly jobs: number
  /** How many different ones newer jobs have. */
  readonly ordinals: number
  readonly queued: number
  readonly unsettled: number
  /** By its entries, and by its usage. */
  readonly charged: number
  readonly usageCharged: number
}

/** An entry, and the owner of its job. */
export interface EntryFacts extends ChainedEntry {
  readonly number: number
  readonly hash: string | null
  readonly jobOwner: string | null
}

/** The credits and the state of a job, with its sums in the ledger; flags are 0 or 1. */
export interface JobFacts {
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
  readonly afterLoss: AfterLoss
}

/** The sums in the ledger of a job that was removed, and how many accounts they are of. */
export type ForgottenFacts = Pick<JobFacts, 'jobId' | 'holdEntry' | 'chargeEntry' | 'releaseEntry'> & {
  readonly owners: number
}

/** What a key or an account has spent in all, as its limits count it, with the sums over its days and its jobs. */
export interface SpendingFacts {
  readonly owner: string
  readonly held: number
  readonly charged: number
  readonly daysHeld: number
  readonly daysCharged: number
  /** What its unsettled jobs hold. */
  readonly unsettled: number
}

/**
 * A check of the whole ledger: takes every account, then every entry in the order of its account, then every job, then every job
 * that was removed.
 */
export interface LedgerCheck {
  account(facts: AccountFacts): void
  entry(facts: EntryFacts): void
  job(facts: JobFacts): void
  forgotten(facts: ForgottenFacts): void
  spending(facts: SpendingFacts): void
  /** Lists the first hundred problems and counts the rest. */
  report(): LedgerReport
}

/** Creates a check that has seen nothing yet. */
export function createLedgerCheck(): LedgerCheck {
  const found: { problem: string; repair: string }[] = []
  const counts = { accounts: 0, entries: 0, jobs: 0 }
  let more = 0
  const report: Report = (problem, repair) => {
    if (found.length < maxProblems) found.push({ problem, repair })
    else more += 1
  }
  const checkEntry = createEntryCheck(report)
  const checkHash = createHashCheck(report)
  const root = createLedgerRoot()
  return {
    account(facts) {
      counts.accounts += 1
      checkAccount(facts, report)
      root.add(facts.accountId, facts.ledgerHead)
    },
    entry(facts) {
      counts.entries += 1
      checkEntry(facts)
      checkHash(facts)
    },
    job(facts) {
      counts.jobs += 1
      checkJob(facts, report)
    },
    forgotten({ jobId, holdEntry, chargeEntry, releaseEntry, owners }) {
      if (holdEntry === 0 || holdEntry !== chargeEntry + releaseEntry || owners !== 1)
        report(
          `forgotten job ${jobId}: held ${holdEntry}, but charged ${chargeEntry} and released ${releaseEntry}, of ${owners} accounts`,
          restoreBackup,
        )
    },
    spending(facts) {
      checkSpending(facts, report)
    },
    report() {
      const all = more === 0 ? found : [...found, { problem: `and ${more} more`, repair: 'begin with those above' }]
      const { root: hash } = root.digest()
      return {
        ...counts,
        root: hash,
        problems: all.map(({ problem }) => problem),
        repairs: all.map(({ repair }) => repair),
      }
    },
  }
}

/** Adds a problem and how an operator can repair it. */
type Report = (problem: string, repair: string) => void

function checkSpending(row: SpendingFacts, report: Report): void {
  const { owner, held, charged, daysHeld, daysCharged, unsettled } = row
  const repair = `no credits are touched, but limits count wrongly: with the server stopped, correct the rows of ${owner} in the table spending`
  if (held !== daysHeld || charged !== daysCharged)
    report(
      `spending of ${owner}: ${held} held and ${charged} charged in all, but ${daysHeld} and ${daysCharged} over its days`,
      repair,
    )
  if (held !== unsettled) report(`spending of ${owner}: ${held} held, but its unsettled jobs hold ${unsettled}`, repair)
}

function checkAccount(row: AccountFacts, report: Report): void {
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
  if (row.ledgerHead !== row.lastHash)
    report(
      `account ${accountId}, entry ${row.entryCount}: the last entry must have the hash ${row.ledgerHead ?? 'none'}, but has ${row.lastHash ?? 'none'}`,
      restoreBackup,
    )
  if (held !== row.unsettled)
    report(
      `account ${accountId}: ${held} credits are held, but its unsettled jobs hold ${row.unsettled}`,
      `look at \`mediagen admin jobs list --account ${accountId}\`: a job without its entry is named below; when none is, \`mediagen admin credits adjust\` can give ${held - row.unsettled} credits back as available`,
    )
  const { jobCount, forgottenCount, forgottenUpTo, jobs, ordinals } = row
  if (jobCount - forgottenCount !== jobs)
    report(
      `account ${accountId}: counts ${jobCount - forgottenCount} jobs, but has ${jobs}`,
      recount('job_count', jobs + forgottenCount),
    )
  else if (jobCount - forgottenUpTo !== ordinals)
    report(
      `account ${accountId}: its last ${jobCount - forgottenUpTo} jobs have ${ordinals} ordinals, so lists leave some out`,
      restoreBackup,
    )
  if (row.charged !== row.usageCharged)
    report(
      `account ${accountId}: was charged ${row.charged} credits, but its usage sums up to ${row.usageCharged}`,
      `no credits are touched, but reports are wrong: with the server stopped, correct the rows of ${accountId} in the table usage`,
    )
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

type Effect = readonly [available: number, held: number]

// The effect of each kind of entry on available and held, per credit.
const effects: Readonly<Record<string, Effect>> = {
  grant: [1, 0],
  adjust: [1, 0],
  hold: [-1, 1],
  charge: [0, -1],
  release: [1, -1],
} satisfies Record<EntryKind, Effect>

/** Replays the entries of each account: the balance after each is the sum of all up to it. */
function createEntryCheck(report: Report): (row: EntryFacts) => void {
  let accountId = ''
  let number = 0
  let available = 0
  let held = 0
  return (row) => {
    if (row.accountId !== accountId) [accountId, number, available, held] = [row.accountId, 0, 0, 0]
    const name = `account ${accountId}, entry ${row.number}`
    if (row.number !== number + 1) report(`${name}: follows entry ${number}`, restoreBackup)
    const effect = effects[row.kind]
    if (effect === undefined) report(`${name}: is of the unknown kind ${row.kind}`, restoreBackup)
    const [toAvailable, toHeld] = effect ?? [0, 0]
    const expectedAvailable = available + toAvailable * row.credits
    const expectedHeld = held + toHeld * row.credits
    if (row.availableAfter !== expectedAvailable || row.heldAfter !== expectedHeld) {
      report(
        `${name}: ${row.kind} of ${row.credits} leaves ${row.availableAfter} + ${row.heldAfter} held, but ${expectedAvailable} + ${expectedHeld} would be right`,
        `find out which of the two is true; entries are never changed, so make up for ${expectedAvailable - row.availableAfter} available credits with \`mediagen admin credits adjust --account ${accountId}\` and say why in its note`,
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

/** Computes the chain of each account again. An entry that was changed is named, and so is the one after an entry that was removed. */
function createHashCheck(report: Report): (row: EntryFacts) => void {
  let accountId = ''
  let previous: string | null = null
  return (row) => {
    if (row.accountId !== accountId) [accountId, previous] = [row.accountId, null]
    const name = `account ${accountId}, entry ${row.number} (${row.entryId})`
    if (row.hash === null && previous !== null) report(`${name}: has no hash, but the one before it has`, restoreBackup)
    if (row.hash !== null && !fitsHash(previous, row))
      report(`${name}: its hash is not that of what it says after the entry before it`, restoreBackup)
    // Once there is a chain, each entry is in it.
    previous = row.hash ?? previous
  }
}

/** Whether an entry has the hash of what it says. With a line end in another value than the note, two entries could have the same lines. */
function fitsHash(previous: string | null, row: EntryFacts): boolean {
  const { accountId, entryId, jobId, reference, createdAtMs, hash } = row
  if ([accountId, entryId, jobId, reference].some((value) => value?.includes('\n'))) return false
  return Math.abs(createdAtMs) <= latestTimeMs && hash === hashEntry(previous, row)
}

function checkJob(row: JobFacts, report: Report): void {
  const { jobId, status, held, charged, released } = row
  const unsettled = status === 'queued' || status === 'running' || status === 'needs_review'
  const expected = unsettled ? 0 : held
  const look = `see \`mediagen admin jobs show ${jobId}\``
  if (charged < 0 || released < 0 || charged + released !== expected)
    report(
      `job ${jobId}: is ${status} and holds ${held}, but charged ${charged} and released ${released}`,
      `${look}; the entries of the ledger say what moved: ${row.chargeEntry} charged, ${row.releaseEntry} released`,
    )
  if (charged > 0 && status !== 'succeeded')
    report(
      `job ${jobId}: is ${status}, but charged ${charged}`,
      `${look}; if the ledger has the charge, give ${charged} credits back with \`mediagen admin credits adjust\``,
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
    return `if the job is right, the account is owed ${owed} credits: \`mediagen admin credits adjust\` gives them`
  return 'if the job is right, the account has too many credits; letting it keep them does no harm to the books'
}

/** Checks the consistency of a job's state and its runs. */
function checkPath(row: JobFacts, report: (problem: string) => void): void {
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
  if (status === 'needs_review' && row.afterLoss !== 'never')
    report('is under review, though it could have been run again')
}
