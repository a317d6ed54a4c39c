// What the check of the ledger loads, page by page. The rules are in core/credits/ledger-check.ts.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLedgerRoot, type LedgerRoot } from '../core/credits/ledger-chain.ts'
import {
  type AccountFacts,
  createLedgerCheck,
  type EntryFacts,
  type ForgottenFacts,
  type JobFacts,
  type SpendingFacts,
} from '../core/credits/ledger-check.ts'
import type { LedgerReport } from '../core/store.ts'

// A page is one statement, so it is consistent; others come between pages. Pages of accounts are small, because each counts its jobs.
const pageSize = 1000
const accountPageSize = 20

type Numbered<Facts> = Facts & { readonly number: number }

const accountsSql = `
  SELECT a.account_id AS accountId, a.available, a.held, a.entry_count AS entryCount, a.job_count AS jobCount, a.forgotten_count AS forgottenCount,
    a.forgotten_up_to AS forgottenUpTo, a.queued_jobs AS queuedJobs,
    (SELECT coalesce(max(number), 0) FROM ledger_entries WHERE account_id = a.account_id) AS lastEntry,
    coalesce(e.available_after, 0) AS lastAvailable, coalesce(e.held_after, 0) AS lastHeld,
    a.ledger_head AS ledgerHead, e.hash AS lastHash,
    (SELECT count(*) FROM jobs WHERE account_id = a.account_id) AS jobs,
    (SELECT count(DISTINCT ordinal) FROM jobs WHERE account_id = a.account_id AND ordinal > a.forgotten_up_to AND ordinal <= a.job_count) AS ordinals,
    (SELECT count(*) FROM jobs WHERE account_id = a.account_id AND status = 'queued' AND status <> 'succeeded') AS queued,
    (SELECT CAST(coalesce(sum(credits_held), 0) AS BIGINT) FROM jobs
      WHERE account_id = a.account_id AND status IN ('queued', 'running', 'needs_review') AND status <> 'succeeded') AS unsettled,
    (SELECT CAST(coalesce(sum(credits), 0) AS BIGINT) FROM ledger_entries WHERE account_id = a.account_id AND kind = 'charge') AS charged,
    (SELECT CAST(coalesce(sum(charged), 0) AS BIGINT) FROM usage WHERE account_id = a.account_id) AS usageCharged
  FROM accounts AS a LEFT JOIN ledger_entries AS e ON e.account_id = a.account_id AND e.number = a.entry_count
  WHERE a.account_id > :after ORDER BY a.account_id LIMIT :limit`

const entriesSql = `
  SELECT e.account_id AS accountId, e.number, e.entry_id AS entryId, e.kind, e.credits, e.available_after AS availableAfter, e.held_after AS heldAfter,
    r.reference, e.note, e.created_at AS createdAtMs, e.hash, coalesce(j.job_id, f.job_id) AS jobId,
    coalesce(j.account_id, CASE WHEN f.number IS NOT NULL THEN e.account_id END) AS jobOwner
  FROM ledger_entries AS e LEFT JOIN jobs AS j ON j.number = e.job_number LEFT JOIN forgotten_jobs AS f ON f.number = e.job_number
    LEFT JOIN grant_references AS r ON r.account_id = e.account_id AND r.number = e.number
  WHERE (e.account_id, e.number) > (:accountId, :number) ORDER BY e.account_id, e.number LIMIT :limit`

const headsSql =
  'SELECT account_id AS accountId, ledger_head AS ledgerHead FROM accounts WHERE account_id > :after ORDER BY account_id LIMIT :limit'

const flag = (condition: string, name: string): string => `CASE WHEN ${condition} THEN 1 ELSE 0 END AS ${name}`
const sumOf = (kind: string, name: string): string =>
  `(SELECT CAST(coalesce(sum(credits), 0) AS BIGINT) FROM ledger_entries WHERE job_number = j.number AND kind = '${kind}') AS ${name}`

const jobsSql = `
  SELECT j.number, j.job_id AS jobId, j.status, j.credits_held AS held, j.credits_charged AS charged, j.credits_released AS released,
    j.attempts, j.lost_runs AS lostRuns, j.max_attempts AS maxAttempts, j.after_loss AS afterLoss,
    ${flag('j.lease_until IS NOT NULL AND j.worker IS NOT NULL', 'leased')}, ${flag('j.finished_at IS NOT NULL', 'ended')},
    ${flag('j.available_at IS NOT NULL', 'waits')}, ${flag('j.error IS NOT NULL', 'explained')},
    ${flag('j.started_at IS NOT NULL', 'begun')}, ${flag('j.deadline_at IS NOT NULL', 'hasDeadline')},
    ${sumOf('hold', 'holdEntry')}, ${sumOf('charge', 'chargeEntry')}, ${sumOf('release', 'releaseEntry')}
  FROM jobs AS j WHERE j.number > :after ORDER BY j.number LIMIT :limit`

// Of a job that was removed only its entries are left, by which it must be settled.
const forgottenSql = `
  SELECT j.number, j.job_id AS jobId, ${sumOf('hold', 'holdEntry')}, ${sumOf('charge', 'chargeEntry')}, ${sumOf('release', 'releaseEntry')},
    (SELECT count(DISTINCT account_id) FROM ledger_entries WHERE job_number = j.number) AS owners
  FROM forgotten_jobs AS j WHERE j.number > :after ORDER BY j.number LIMIT :limit`

// Jobs that were started before there were limits have no day, and do not count. A job counts for its account, its key, and the key
// that made that.
const spendingSql = `
  WITH holding AS (
    SELECT j.account_id, j.key_id, k.maker_id, j.credits_held FROM jobs AS j LEFT JOIN api_keys AS k ON k.key_id = j.key_id
    WHERE j.status IN ('queued', 'running', 'needs_review') AND j.status <> 'succeeded' AND j.day IS NOT NULL
  ), held AS (
    SELECT owner, CAST(sum(credits) AS BIGINT) AS credits FROM (
      SELECT account_id AS owner, credits_held AS credits FROM holding UNION ALL SELECT key_id, credits_held FROM holding
      UNION ALL SELECT maker_id, credits_held FROM holding
    ) AS holders GROUP BY owner
  )
  SELECT s.owner, s.held, s.charged, coalesce(h.credits, 0) AS unsettled,
    (SELECT CAST(coalesce(sum(held), 0) AS BIGINT) FROM spending WHERE owner = s.owner AND day <> '') AS daysHeld,
    (SELECT CAST(coalesce(sum(charged), 0) AS BIGINT) FROM spending WHERE owner = s.owner AND day <> '') AS daysCharged
  FROM spending AS s LEFT JOIN held AS h ON h.owner = s.owner
  WHERE s.day = '' AND s.owner > :after ORDER BY s.owner LIMIT :limit`

/** Reads rows; values are named. */
export type ReadRows = <Row extends object>(
  sql: string,
  values: Readonly<Record<string, unknown>>,
) => Promise<readonly Row[]>

/** Checks the whole ledger, while the server works. */
export async function verifyLedger(read: ReadRows): Promise<LedgerReport> {
  const check = createLedgerCheck()
  const accounts = (last: AccountFacts | undefined, limit: number) =>
    read<AccountFacts>(accountsSql, { after: last?.accountId ?? '', limit })
  const entries = (last: EntryFacts | undefined, limit: number) =>
    read<EntryFacts>(entriesSql, { accountId: last?.accountId ?? '', number: last?.number ?? 0, limit })
  const jobsOf =
    <Facts>(sql: string) =>
    (last: Numbered<Facts> | undefined, limit: number) =>
      read<Numbered<Facts>>(sql, { after: last?.number ?? 0, limit })
  await eachRow(accountPageSize, accounts, check.account)
  await eachRow(pageSize, entries, check.entry)
  await eachRow(pageSize, jobsOf<JobFacts>(jobsSql), check.job)
  await eachRow(pageSize, jobsOf<ForgottenFacts>(forgottenSql), check.forgotten)
  const spending = (last: SpendingFacts | undefined, limit: number) =>
    read<SpendingFacts>(spendingSql, { after: last?.owner ?? '', limit })
  await eachRow(pageSize, spending, check.spending)
  return check.report()
}

/** Reads the root of the ledger, while the server works: each account as it is at one instant. */
export async function readLedgerRoot(read: ReadRows): Promise<LedgerRoot> {
  type Head = Pick<AccountFacts, 'accountId' | 'ledgerHead'>
  const root = createLedgerRoot()
  const heads = (last: Head | undefined, limit: number) => read<Head>(headsSql, { after: last?.accountId ?? '', limit })
  await eachRow(pageSize, heads, ({ accountId, ledgerHead }) => root.add(accountId, ledgerHead))
  return root.digest()
}

async function eachRow<Row>(
  limit: number,
  read: (last: Row | undefined, limit: number) => Promise<readonly Row[]>,
  check: (row: Row) => void,
): Promise<void> {
  let page: readonly Row[] = []
  do {
    page = await read(page.at(-1), limit)
    for (const row of page) check(row)
    await nextTurn()
  } while (page.length === limit)
}
