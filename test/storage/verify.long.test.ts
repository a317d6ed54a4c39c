// The check of the ledger finds what the database can no longer refuse: stores that were tampered with or damaged.
import { describe, expect, test } from 'vitest'
import { systemActor } from '../../src/core/accounts/audit.ts'
import type { LedgerReport, Store } from '../../src/core/store.ts'
import { openStoreOf, tamper } from '../test-store.ts'
import { makeJobs } from './fixture.ts'
import { createTestFolder } from './sqlite-fixture.ts'

/** A store with one job of each end, on which every rule was switched off before the SQL ran. */
async function problemsAfter(sql: string, fill = makeJobs): Promise<readonly string[]> {
  return (await reportAfter(sql, fill)).problems
}

async function reportAfter(sql: string, fill = makeJobs): Promise<LedgerReport> {
  using tampered = createTestFolder()
  {
    await using store = await openStoreOf(tampered.folder)
    await fill(store)
  }
  await tamper(tampered.folder, sql)
  await using store = await openStoreOf(tampered.folder)
  return await store.verifyLedger()
}

/** What is said of an entry whose hash does not fit. */
const hashOf = (number: number): RegExp =>
  new RegExp(`account acct_\\w+, entry ${number} \\(entry_\\w+\\): its hash is not that of`)

/** A row that follows the last entry and changes nothing but the balance of the account, with a hash of no entry. */
const insertEntry = `INSERT INTO ledger_entries (account_id, number, entry_id, kind, credits, available_after, held_after, created_at, hash)
  SELECT account_id, entry_count + 1, 'entry_x', 'grant', 5, available + 5, held, 0, '${'0'.repeat(64)}' FROM accounts;
  UPDATE accounts SET available = available + 5, entry_count = entry_count + 1, ledger_head = '${'0'.repeat(64)}'`

describe('P291: the check of the ledger names the account and the entry', () => {
  const of = (number: number): string => `WHERE number = ${number}`

  test.each([
    ['of another time', `UPDATE ledger_entries SET created_at = created_at + 1 ${of(3)}`, [hashOf(3)]],
    ['of no time', `UPDATE ledger_entries SET created_at = 9000000000000000 ${of(3)}`, [hashOf(3)]],
    [
      'of an unknown kind',
      `UPDATE ledger_entries SET kind = 'gift' ${of(1)}`,
      [/entry 1: is of the unknown kind gift/, /gift of 1000 leaves/, hashOf(1)],
    ],
    ['with another id', `UPDATE ledger_entries SET entry_id = 'entry_x' ${of(3)}`, [hashOf(3)]],
    ['with another note', `UPDATE ledger_entries SET note = '' ${of(1)}`, [hashOf(1)]],
    ['with another hash', `UPDATE ledger_entries SET hash = '${'0'.repeat(64)}' ${of(3)}`, [hashOf(3), hashOf(4)]],
    ['of another job', 'UPDATE jobs SET job_id = job_id || 9 WHERE number = 3', [hashOf(7)]],
    ['that was inserted', insertEntry, [hashOf(9)]],
    ['without a hash', `UPDATE ledger_entries SET hash = NULL ${of(3)}`, [/entry 3 \(\w+\): has no hash/, hashOf(4)]],
    [
      'that changed places with another of the same sum',
      `UPDATE ledger_entries SET number = 90 ${of(7)}; UPDATE ledger_entries SET number = 7 ${of(8)}; UPDATE ledger_entries SET number = 8 ${of(90)};
       UPDATE ledger_entries SET available_after = available_after + 10, held_after = held_after - 10 ${of(7)};
       UPDATE ledger_entries SET available_after = available_after - 10, held_after = held_after + 10 ${of(8)};
       UPDATE accounts SET ledger_head = (SELECT hash FROM ledger_entries ${of(8)})`,
      [hashOf(7), hashOf(8)],
    ],
    [
      'that is the last, if the account has another hash',
      `UPDATE accounts SET ledger_head = '${'0'.repeat(64)}'`,
      [/entry 8: the last entry must have the hash 0{64}, but has/],
    ],
  ])('%s', async (_, sql, words) => {
    const problems = await problemsAfter(sql)
    expect(problems).toEqual(words.map((pattern) => expect.stringMatching(pattern)))
  })
})

describe('P291: the check of the ledger covers the references of payments', () => {
  /** Two grants with a reference, and one without. */
  async function makeGrants(store: Store): Promise<void> {
    const { accountId } = await store.createAccount('a', 0)
    await store.grantCredits(accountId, 5, 'paid', systemActor, 'pay_1')
    await store.grantCredits(accountId, 5, null, systemActor, 'pay_2')
    await store.grantCredits(accountId, 5, 'a gift')
  }

  test('which are as they were written', async () => {
    expect(await problemsAfter('SELECT 1', makeGrants)).toEqual([])
  })

  const first = "WHERE reference = 'pay_1'"
  test.each([
    ['that was changed', `UPDATE grant_references SET reference = 'pay_3' ${first}`, [hashOf(1)]],
    ['that was removed', `DELETE FROM grant_references ${first}`, [hashOf(1)]],
    ['that went to another grant', `UPDATE grant_references SET number = 3 ${first}`, [hashOf(1), hashOf(3)]],
    [
      'that changed places with another',
      `UPDATE grant_references SET number = 9 ${first}; UPDATE grant_references SET number = 1 WHERE number = 2;
       UPDATE grant_references SET number = 2 WHERE number = 9`,
      [hashOf(1), hashOf(2)],
    ],
    [
      'that has the note in it',
      `UPDATE grant_references SET reference = 'pay_1\npaid' ${first}; UPDATE ledger_entries SET note = NULL WHERE number = 1`,
      [hashOf(1)],
    ],
    [
      'that is of an account with another id',
      "INSERT INTO accounts (account_id, name, created_at) VALUES ('acct_x', 'x', 0); UPDATE grant_references SET account_id = 'acct_x' WHERE number = 2",
      [hashOf(2)],
    ],
  ])('%s', async (_, sql, words) => {
    const problems = await problemsAfter(sql, makeGrants)
    expect(problems).toEqual(words.map((pattern) => expect.stringMatching(pattern)))
  })
})

describe('the check of the ledger names', () => {
  test('nothing when all is well', async () => {
    expect(await problemsAfter('SELECT 1')).toEqual([])
  })

  test.each([
    [
      'a balance that was raised',
      'UPDATE accounts SET available = available + 1',
      [/the balance is 977 \+ 20 held, but its last entry left 976 \+ 20/],
    ],
    [
      'held credits that nobody holds',
      'UPDATE accounts SET held = held + 1',
      [/but its last entry left/, /21 credits are held, but its unsettled jobs hold 20/],
    ],
    [
      'a limit that counts too little',
      "UPDATE spending SET held = 0 WHERE day = '' AND owner = 'key_test'",
      [/spending of key_test: 0 held and 4 charged in all, but 20 and 4/, /0 held, but its unsettled jobs hold 20/],
    ],
    [
      'usage that counts too little',
      'UPDATE usage SET charged = charged - 1 WHERE charged > 0',
      [/was charged 4 credits, but its usage sums up to 3/],
    ],
    [
      'a missing entry',
      'DELETE FROM ledger_entries WHERE number = 2',
      [/entry 3: follows entry 1/, /entry 3: charge of 4 leaves/, hashOf(3), /holds 10, but the ledger says 0/],
    ],
    [
      'a missing last entry',
      'DELETE FROM ledger_entries WHERE number = (SELECT max(number) FROM ledger_entries)',
      [
        /counts 8 entries, but the last is number 7/,
        /but its last entry left/,
        /entry 8: the last entry must have the hash [0-9a-f]{64}, but has none/,
        /holds 10, but the ledger says 0/,
      ],
    ],
    [
      'an entry of other credits',
      'UPDATE ledger_entries SET credits = 5 WHERE number = 3',
      [
        /was charged 5 credits, but its usage sums up to 4/,
        /entry 3: charge of 5 leaves/,
        hashOf(3),
        /charged 4, but the ledger says 5/,
      ],
    ],
    [
      'a job charged beside the ledger',
      "UPDATE jobs SET credits_charged = 10, credits_released = 0 WHERE status = 'succeeded'",
      [/charged 10, but the ledger says 4/, /released 0, but the ledger says 6/],
    ],
    [
      'a failure that cost',
      "UPDATE jobs SET credits_charged = 10, credits_released = 0 WHERE status = 'failed'",
      [/is failed, but charged 10/, /charged 10, but/, /released 0, but/],
    ],
    [
      'a job that is settled in parts',
      "UPDATE jobs SET credits_released = 5 WHERE status = 'succeeded'",
      [/holds 10, but charged 4 and released 5/, /released 5, but the ledger says 6/],
    ],
    [
      'a running job that was settled',
      "UPDATE jobs SET credits_released = 10 WHERE status = 'running'",
      [/is running and holds 10, but charged 0 and released 10/, /released 10, but the ledger says 0/],
    ],
    [
      'a settled job that runs again',
      "UPDATE jobs SET status = 'running' WHERE status = 'failed'",
      [
        /20 credits are held, but its unsettled jobs hold 30/,
        /is running and holds 10/,
        /is running, without a worker/,
        /is running, with an end/,
        /spending of acct_.*: 20 held, but its unsettled jobs hold 30/,
        /spending of key_test: 20 held, but its unsettled jobs hold 30/,
      ],
    ],
    [
      'more lost runs than were begun',
      "UPDATE jobs SET lost_runs = 2 WHERE status = 'running'",
      [/lost 2 runs of 1 begun/],
    ],
    ['a running job without a worker', "UPDATE jobs SET worker = NULL WHERE status = 'running'", [/without a worker/]],
    [
      'an end that waits for another run',
      "UPDATE jobs SET available_at = 5 WHERE status = 'failed'",
      [/is failed, but waits for another run/],
    ],
    ['a failure without a reason', "UPDATE jobs SET error = NULL WHERE status = 'failed'", [/does not say why/]],
    [
      'an expiry without a deadline',
      "UPDATE jobs SET status = 'expired' WHERE status = 'failed'",
      [/is expired, without a deadline/],
    ],
    [
      'a run without a start',
      "UPDATE jobs SET started_at = NULL WHERE status = 'running'",
      [/began 1 runs, without a start/],
    ],
    [
      'a review of what could have been run again',
      "UPDATE jobs SET status = 'needs_review', finished_at = 1, worker = NULL, lease_until = NULL, error = '{}' WHERE status = 'running'",
      [/is under review, though it could have been run again/],
    ],
    [
      'wrong counts',
      'UPDATE accounts SET job_count = 9, queued_jobs = 8',
      [/counts 9 jobs, but has 4/, /counts 8 queued jobs, but has 1/],
    ],
    ['a gap in the list', 'UPDATE jobs SET ordinal = 9 WHERE ordinal = 2', [/its last 4 jobs have 3 ordinals/]],
    [
      "another account's job",
      "INSERT INTO accounts (account_id, name, created_at) VALUES ('acct_x', 'x', 0); UPDATE jobs SET account_id = 'acct_x' WHERE status = 'queued'",
      [
        /20 credits are held/,
        /counts 4 jobs/,
        /counts 1 queued/,
        /acct_x: 0 credits are held/,
        /acct_x: counts 0 jobs/,
        /acct_x: counts 0 queued/,
        /hold without a job of this account/,
        /spending of acct_.*: 20 held, but its unsettled jobs hold 10/,
      ],
    ],
  ])('%s', async (_, sql, words) => {
    const problems = await problemsAfter(sql)
    expect(problems).toEqual(words.map((pattern) => expect.stringMatching(pattern)))
  })

  test('a forgotten job whose hold was not resolved', async () => {
    const forget =
      "INSERT INTO forgotten_jobs (number, job_id) SELECT number, job_id FROM jobs WHERE status = 'failed'; DELETE FROM jobs WHERE status = 'failed'"
    expect(await problemsAfter(`${forget}; UPDATE accounts SET forgotten_count = 1, forgotten_up_to = 2`)).toEqual([])
    const problems = await problemsAfter(
      `${forget}; UPDATE accounts SET forgotten_count = 1, forgotten_up_to = 2; UPDATE ledger_entries SET job_number = NULL WHERE kind = 'release' AND job_number = 2`,
    )
    expect(problems).toEqual([
      expect.stringMatching(/release without a job/),
      expect.stringMatching(hashOf(6)),
      expect.stringMatching(/forgotten job job_\w+: held 10, but charged 0 and released 0/),
    ])
  })

  test('an entry whose job is neither there nor forgotten', async () => {
    const problems = await problemsAfter(
      "DELETE FROM jobs WHERE status = 'failed'; UPDATE accounts SET forgotten_count = 1, forgotten_up_to = 2",
    )
    expect(problems).toEqual([
      expect.stringMatching(/hold without a job/),
      expect.stringMatching(hashOf(5)),
      expect.stringMatching(/release without a job/),
      expect.stringMatching(hashOf(6)),
    ])
  })

  test('a hundred problems at most, and how many more', async () => {
    const problems =
      await problemsAfter(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1250)
      INSERT INTO accounts (account_id, name, available, created_at) SELECT 'acct_x' || i, 'x', 1, 0 FROM n`)
    expect(problems).toHaveLength(101)
    expect(problems.at(-1)).toBe('and 1150 more')
  })

  test('for each problem what could be done about it, and does nothing by itself', async () => {
    const { problems, repairs } = await reportAfter('UPDATE accounts SET available = available + 1, job_count = 9')
    expect(problems).toHaveLength(2)
    expect(repairs).toEqual([
      expect.stringContaining('set the balance to 976 + 20 held'),
      expect.stringContaining('set job_count of the account to 4'),
    ])
  })
})
