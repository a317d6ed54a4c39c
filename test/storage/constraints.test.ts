// What the database itself refuses, by any writer: wrong money, states out of order, a rewritten past. Each rule by raw SQL.
// P61, P62, P63.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimOne, claimPaid, startJob, testError } from './fixture.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

const file = createTestFolder()
const jobs = { queued: '', running: '', succeeded: '', failed: '', review: '', free: '', paid: '', lost: '' }
let account = ''
let other = ''

beforeAll(async () => {
  await using store = await openStoreAt(file.path)
  account = (await store.createAccount('a', 1000)).accountId
  other = (await store.createAccount('b', 1000)).accountId
  for (const name of ['succeeded', 'failed', 'review', 'running', 'paid', 'lost'] as const) {
    await startJob(store, account)
    const { job, token } = await (name === 'review' || name === 'paid' ? claimPaid(store) : claimOne(store))
    jobs[name] = job.jobId
    if (name === 'succeeded')
      await store.finishJob(job.jobId, token, { status: 'succeeded', outputs: [], creditsActual: 4 })
    if (name === 'failed') await store.finishJob(job.jobId, token, { status: 'failed', error: testError })
    if (name === 'review') await store.finishJob(job.jobId, token, { status: 'queued' })
    if (name === 'lost') loseRun(job.jobId)
  }
  jobs.queued = (await startJob(store, account)).jobId
  jobs.free = (await startJob(store, account, { credits: 0 })).jobId
  expect((await store.verifyLedger()).problems).toEqual([])
})
afterAll(() => file[Symbol.dispose]())

function loseRun(jobId: string): void {
  using db = openRaw(file.path)
  db.exec(giveBack(`'${jobId}'`, 1))
}

/** Runs the statements in one transaction to its commit; what is named in braces is filled in. */
function attempt(sql: string): void {
  using db = openRaw(file.path)
  const names: Record<string, string> = { ...jobs, account, other }
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec(sql.replaceAll(/\{(\w+)\}/g, (_, name: string) => `'${names[name] ?? ''}'`))
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

const entry = (fields: {
  kind: string
  credits: string
  job?: string
  available?: string
  held?: string
  number?: string
  account?: string
  hash?: string
}) => {
  const {
    kind,
    credits,
    job,
    available = 'available',
    held = 'held',
    number = 'entry_count + 1',
    account: owner = '{account}',
    hash = "printf('%064d', 0)",
  } = fields
  const jobNumber = job === undefined ? 'NULL' : `(SELECT number FROM jobs WHERE job_id = ${job})`
  return `INSERT INTO ledger_entries (account_id, number, entry_id, kind, job_number, credits, available_after, held_after, created_at, hash)
    SELECT account_id, ${number}, 'entry_x', '${kind}', ${jobNumber}, ${credits}, ${available}, ${held}, 0, ${hash} FROM accounts WHERE account_id = ${owner};`
}
const grant5 = (hash: string) => entry({ kind: 'grant', credits: '5', available: 'available + 5', hash })
const insertJob = (fields: Record<string, string> = {}) => {
  const row = {
    job_id: "'job_new'",
    account_id: '{account}',
    ordinal: '(SELECT job_count + 1 FROM accounts WHERE account_id = {account})',
    status: "'queued'",
    model: "'m'",
    quote_id: "'q'",
    idempotency_key: "'new'",
    request_digest: 'zeroblob(32)',
    credits_held: '5',
    created_at: '0',
    key_id: "'key_x'",
    ...fields,
  }
  return `INSERT INTO jobs (${Object.keys(row).join(', ')}) VALUES (${Object.values(row).join(', ')});`
}
const end = (job: string, status: string, charged: number, released: number, error = 'NULL') =>
  `UPDATE jobs SET status = '${status}', progress = CASE '${status}' WHEN 'succeeded' THEN 1 ELSE 0 END, credits_charged = ${charged}, credits_released = ${released},
     error = ${error}, finished_at = 9000000000000000, worker = NULL, lease_until = NULL WHERE job_id = ${job};`
const giveBack = (job: string, losses = 0) =>
  `UPDATE jobs SET status = 'queued', progress = 0, lost_runs = lost_runs + ${losses}, worker = NULL, lease_until = NULL WHERE job_id = ${job};`
const remove = 'UPDATE jobs SET outputs_gone = 2, deleted_at = finished_at WHERE job_id = {failed};'
const someError = `'{"code":"x"}'`
const charge4 = entry({ kind: 'charge', credits: '4', job: '{running}', held: 'held - 4' })
const release6 = entry({
  kind: 'release',
  credits: '6',
  job: '{running}',
  available: 'available + 6',
  held: 'held - 6',
})

test('the statements of these tests are right where they should be', () => {
  using db = openRaw(file.path)
  const filled = (
    end('{running}', 'succeeded', 4, 6) +
    charge4 +
    release6 +
    insertJob({ credits_held: '0' }) +
    entry({ kind: 'grant', credits: '5', available: 'available + 5' })
  )
    .replaceAll('{running}', `'${jobs.running}'`)
    .replaceAll('{account}', `'${account}'`)
  db.exec('BEGIN IMMEDIATE')
  db.exec(filled)
  expect(db.pragma('foreign_key_check')).toEqual([])
  db.exec('ROLLBACK')
})

const refused: Record<string, [name: string, sql: string, words: string | RegExp][]> = {
  accounts: [
    [
      'a balance without an entry',
      'UPDATE accounts SET available = available + 1 WHERE account_id = {account}',
      'only by the next entry',
    ],
    [
      'a hold without an entry',
      'UPDATE accounts SET available = available - 1, held = held + 1 WHERE account_id = {account}',
      'only by the next entry',
    ],
    [
      'another count of entries',
      'UPDATE accounts SET entry_count = entry_count - 1 WHERE account_id = {account}',
      'only by the next entry',
    ],
    ['another last hash', 'UPDATE accounts SET ledger_head = NULL WHERE account_id = {account}', 'by the next entry'],
    [
      'an account that begins with credits',
      "INSERT INTO accounts (account_id, name, available, created_at) VALUES ('acct_x', 'x', 5, 0)",
      'new account is empty',
    ],
    [
      'an account with less than nothing',
      "INSERT INTO accounts (account_id, name, available, created_at) VALUES ('acct_x', 'x', -1, 0)",
      /empty|CHECK/,
    ],
    [
      'an account that is replaced',
      "INSERT OR REPLACE INTO accounts (account_id, name, created_at) VALUES ({account}, 'x', 0)",
      'never replaced',
    ],
    ['an account that is deleted', 'DELETE FROM accounts WHERE account_id = {account}', 'never deleted'],
    [
      'an account with another id',
      "UPDATE accounts SET account_id = 'acct_x' WHERE account_id = {account}",
      'do not change',
    ],
    [
      'text for a number',
      "INSERT INTO accounts (account_id, name, created_at) VALUES ('acct_x', 'x', 'today')",
      'cannot store TEXT',
    ],
    ['fewer queued jobs than none', 'UPDATE accounts SET queued_jobs = -1 WHERE account_id = {account}', 'CHECK'],
  ],
  entries: [
    ['an entry without a hash', grant5('NULL'), 'which has a hash'],
    ['a hash that is none', grant5("'0'"), 'CHECK'],
    [
      'a grant that does not add up',
      entry({ kind: 'grant', credits: '5', available: 'available + 6' }),
      'does not follow',
    ],
    [
      'a grant that touches what is held',
      entry({ kind: 'grant', credits: '5', available: 'available + 5', held: 'held + 1' }),
      'does not follow',
    ],
    [
      'an entry out of number',
      entry({ kind: 'grant', credits: '5', available: 'available + 5', number: 'entry_count + 2' }),
      'does not follow',
    ],
    [
      'an entry in place of another',
      entry({ kind: 'grant', credits: '5', available: 'available + 5', number: 'entry_count' }),
      'does not follow',
    ],
    ['a grant of nothing', entry({ kind: 'grant', credits: '0' }), 'CHECK'],
    ['a negative grant', entry({ kind: 'grant', credits: '-5', available: 'available - 5' }), 'CHECK'],
    ['an adjustment of nothing', entry({ kind: 'adjust', credits: '0' }), 'CHECK'],
    ['an adjustment below zero', entry({ kind: 'adjust', credits: '-available - 1', available: '-1' }), 'CHECK'],
    [
      'a balance above 2^53 - 1',
      entry({ kind: 'grant', credits: '9007199254740991', available: 'available + 9007199254740991' }),
      'CHECK',
    ],
    ['an entry of another kind', entry({ kind: 'gift', credits: '5', available: 'available + 5' }), 'CHECK'],
    [
      'a hold without a job',
      entry({ kind: 'hold', credits: '5', available: 'available - 5', held: 'held + 5' }),
      'CHECK',
    ],
    [
      'a grant with a job',
      entry({ kind: 'grant', credits: '5', job: '{queued}', available: 'available + 5' }),
      'does not match the money of its job',
    ],
    [
      'a second hold of a job',
      entry({ kind: 'hold', credits: '10', job: '{queued}', available: 'available - 10', held: 'held + 10' }),
      'such an entry already',
    ],
    [
      'a second release of a job',
      entry({ kind: 'release', credits: '10', job: '{failed}', available: 'available + 10', held: 'held - 10' }),
      'such an entry already',
    ],
    [
      'a charge of a job that is not settled',
      entry({ kind: 'charge', credits: '10', job: '{running}', held: 'held - 10' }),
      'does not match the money of its job',
    ],
    [
      'a release of a job that is not settled',
      entry({ kind: 'release', credits: '10', job: '{running}', available: 'available + 10', held: 'held - 10' }),
      'does not match the money of its job',
    ],
    [
      'a charge of other credits than the job says',
      `${end('{running}', 'succeeded', 4, 6)} ${entry({ kind: 'charge', credits: '5', job: '{running}', held: 'held - 5' })}`,
      'does not match the money of its job',
    ],
    [
      "an entry for another account's job",
      `${end('{running}', 'succeeded', 4, 6)} ${entry({ kind: 'charge', credits: '4', job: '{running}', held: 'held - 4', account: '{other}' })}`,
      /does not match|CHECK/,
    ],
    ['an entry that is changed', 'UPDATE ledger_entries SET credits = 1 WHERE number = 1', 'append-only'],
    ['a note that is changed', "UPDATE ledger_entries SET note = 'x' WHERE number = 1", 'append-only'],
    ['an entry that is deleted', 'DELETE FROM ledger_entries WHERE number = 1', 'append-only'],
  ],
  'money of jobs': [
    ['a job that begins settled', insertJob({ credits_charged: '5' }), 'CHECK'],
    ['a job that begins running', insertJob({ status: "'running'" }), 'begins queued'],
    ['a negative hold', insertJob({ credits_held: '-1' }), 'CHECK'],
    ['a hold above 2^53 - 1', insertJob({ credits_held: '9007199254740992' }), 'CHECK'],
    ['a hold without its entry', insertJob(), 'FOREIGN KEY'],
    ['a job of no account', insertJob({ account_id: "'acct_x'", credits_held: '0' }), 'FOREIGN KEY'],
    [
      'a key that is used twice',
      insertJob({ idempotency_key: '(SELECT idempotency_key FROM jobs WHERE job_id = {queued})' }),
      'never replaced',
    ],
    [
      'a job that is replaced',
      insertJob({ job_id: '{failed}' }).replace('INSERT', 'INSERT OR REPLACE'),
      'never replaced',
    ],
    ['a job that is deleted', 'DELETE FROM jobs WHERE job_id = {free}', 'only a job that is settled'],
    ['another hold', 'UPDATE jobs SET credits_held = 1 WHERE job_id = {running}', 'started with does not change'],
    ['another owner', 'UPDATE jobs SET account_id = {other} WHERE job_id = {running}', 'started with does not change'],
    ['another key', "UPDATE jobs SET idempotency_key = 'x' WHERE job_id = {running}", 'started with does not change'],
    ['other labels', "UPDATE jobs SET labels = '{}' WHERE job_id = {running}", 'started with does not change'],
    ['another input', "UPDATE job_inputs SET input = '{}'", 'started with does not change'],
    ['another brief input', "UPDATE job_inputs SET brief = '{}'", 'started with does not change'],
    ['an input that goes before the outputs', 'DELETE FROM job_inputs', 'stays as long as the outputs'],
    [
      'outputs that go twice',
      'UPDATE jobs SET outputs_gone = 1, removal_at = 0 WHERE job_id = {succeeded}',
      'are said to be gone',
    ],
    ['files of a deleted job', 'UPDATE jobs SET deleted_at = finished_at WHERE job_id = {succeeded}', 'CHECK'],
    ['a job that comes back', remove + 'UPDATE jobs SET deleted_at = NULL', 'does not come back'],
    ['the input of a running job', 'UPDATE jobs SET outputs_gone = 2 WHERE job_id = {running}', 'are said to be gone'],
    [
      'files that go at no time',
      "UPDATE jobs SET outputs_gone = 1, outputs = '[1]' WHERE job_id = {succeeded}",
      'CHECK',
    ],
    ['a charge while running', 'UPDATE jobs SET credits_charged = 1 WHERE job_id = {running}', 'settled_exactly'],
    ['a release under review', 'UPDATE jobs SET credits_released = 10 WHERE job_id = {review}', 'settled_exactly'],
    ['a charge above the hold', end('{running}', 'succeeded', 11, 0), 'settled_exactly'],
    ['a negative charge', end('{running}', 'succeeded', -1, 11), 'CHECK'],
    ['a settlement that leaves something', end('{running}', 'succeeded', 4, 5), 'settled_exactly'],
    ['a settlement of more than was held', end('{running}', 'succeeded', 4, 7), 'settled_exactly'],
    ['a failure that costs', end('{running}', 'failed', 4, 6, someError), 'only_success_costs'],
    ['a cancellation that costs', end('{queued}', 'canceled', 10, 0, someError), 'only_success_costs'],
    ['a success without its entries', end('{running}', 'succeeded', 4, 6), 'FOREIGN KEY'],
    ['a success without its release', end('{running}', 'succeeded', 4, 6) + charge4, 'FOREIGN KEY'],
    ['a failure without its release', end('{running}', 'failed', 0, 10, someError), 'FOREIGN KEY'],
    [
      'a settlement that is changed',
      'UPDATE jobs SET credits_charged = 10, credits_released = 0 WHERE job_id = {succeeded}',
      'settled job stays',
    ],
  ],
  'states of jobs': [
    ['an unknown state', "UPDATE jobs SET status = 'paused' WHERE job_id = {running}", /CHECK|may not follow/],
    ['queued to succeeded', end('{free}', 'succeeded', 0, 0), 'may not follow'],
    ['queued to failed', end('{free}', 'failed', 0, 0, someError), 'may not follow'],
    ['queued to review', end('{free}', 'needs_review', 0, 0), 'may not follow'],
    ['running to expired', end('{running}', 'expired', 0, 10, someError), 'may not follow'],
    ['review to canceled', end('{review}', 'canceled', 0, 10, someError), 'may not follow'],
    [
      'review to queued while nobody knows more',
      "UPDATE jobs SET status = 'queued', finished_at = NULL, error = NULL WHERE job_id = {review}",
      'never_means_review',
    ],
    ['succeeded to failed', end('{succeeded}', 'failed', 0, 10, someError), /may not follow|settled job stays/],
    [
      'failed to queued',
      "UPDATE jobs SET status = 'queued', credits_released = 0, error = NULL, finished_at = NULL WHERE job_id = {failed}",
      /may not follow|settled job stays/,
    ],
    [
      'a claim without a new token',
      "UPDATE jobs SET status = 'running', attempts = attempts + 1, started_at = 9000000000000000, worker = 'w', lease_until = 1 WHERE job_id = {queued}",
      'takes a new token',
    ],
    [
      'a claim without an attempt',
      "UPDATE jobs SET status = 'running', token = token + 1, started_at = 9000000000000000, worker = 'w', lease_until = 1 WHERE job_id = {queued}",
      'takes a new token',
    ],
    ['a token that goes back', 'UPDATE jobs SET token = token - 1 WHERE job_id = {running}', 'never go back'],
    ['a sequence that goes back', 'UPDATE jobs SET sequence = sequence - 1 WHERE job_id = {running}', 'never go back'],
    ['progress 1 while running', 'UPDATE jobs SET progress = 1 WHERE job_id = {running}', 'progress_ends_with_success'],
    ['progress beyond 1', 'UPDATE jobs SET progress = 1.5 WHERE job_id = {running}', 'CHECK'],
    ['running without a lease', 'UPDATE jobs SET lease_until = NULL WHERE job_id = {running}', 'leased_while_running'],
    ['queued with a lease', 'UPDATE jobs SET lease_until = 1 WHERE job_id = {queued}', 'leased_while_running'],
    [
      'an end while running',
      'UPDATE jobs SET finished_at = 9000000000000000 WHERE job_id = {running}',
      'finished_when_terminal',
    ],
    [
      'a run before its start',
      'UPDATE jobs SET started_at = created_at - 1 WHERE job_id = {running}',
      'order of its life',
    ],
    [
      'an end before its run',
      'UPDATE jobs SET finished_at = created_at - 1 WHERE job_id = {failed}',
      'order of its life',
    ],
    ['no end when ended', 'UPDATE jobs SET finished_at = NULL WHERE job_id = {failed}', 'finished_when_terminal'],
    ['a failure without an error', 'UPDATE jobs SET error = NULL WHERE job_id = {failed}', 'failure_has_error'],
    ['a success with an error', `UPDATE jobs SET error = ${someError} WHERE job_id = {succeeded}`, 'failure_has_error'],
    [
      'a wish to cancel a queued job',
      'UPDATE jobs SET cancel_requested = 1 WHERE job_id = {queued}',
      'queued_without_cancel',
    ],
    [
      'a job begun after review',
      "UPDATE jobs SET status = 'running', worker = 'w', lease_until = 1, finished_at = NULL, error = NULL WHERE job_id = {review}",
      'may not follow',
    ],
    ['another run of what may have cost money elsewhere', giveBack('{paid}'), /is not queued again|never_means_review/],
    [
      'another run, called safe by the way',
      giveBack('{paid}').replace('SET ', "SET after_loss = 'again', "),
      'is not queued again',
    ],
    [
      'a review of what may be run again',
      `UPDATE jobs SET status = 'needs_review', error = ${someError}, finished_at = 9000000000000000, worker = NULL, lease_until = NULL WHERE job_id = {running}`,
      'never_means_review',
    ],
    [
      'a review without a reason',
      "UPDATE jobs SET status = 'needs_review', finished_at = 9000000000000000, worker = NULL, lease_until = NULL WHERE job_id = {paid}",
      'says why',
    ],
    ['an expiry without a deadline', end('{free}', 'expired', 0, 0, someError), 'CHECK'],
    ['a loss that is counted while running', 'UPDATE jobs SET lost_runs = 1 WHERE job_id = {running}', 'lost once'],
    ['a loss that is counted twice', giveBack('{running}', 2), /lost once|CHECK/],
    ['a loss that is forgotten', 'UPDATE jobs SET lost_runs = 0 WHERE job_id = {lost}', 'lost once'],
    ['a running job that waits', 'UPDATE jobs SET available_at = 1 WHERE job_id = {running}', 'CHECK'],
    ['a new job that waits', insertJob({ available_at: '1', credits_held: '0' }), 'may begin at once'],
    ['a new job that lost a run', insertJob({ lost_runs: '1', credits_held: '0' }), /lost no run|CHECK/],
    ['a priority out of range', insertJob({ priority: '11', credits_held: '0' }), 'CHECK'],
    ['another position in the queue', 'UPDATE jobs SET fair = 0 WHERE job_id = {queued}', 'does not change'],
    ['another price of usage', "UPDATE jobs SET usage_price = '{}' WHERE job_id = {queued}", 'does not change'],
    ['another priority', 'UPDATE jobs SET priority = 1 WHERE job_id = {queued}', 'does not change'],
    ['another deadline', 'UPDATE jobs SET deadline_at = 1 WHERE job_id = {queued}', 'does not change'],
    ['a review without doubt', "UPDATE jobs SET after_loss = 'again' WHERE job_id = {review}", 'never_means_review'],
    ['more attempts than allowed', 'UPDATE jobs SET max_attempts = 9 WHERE job_id = {lost}', 'does not change'],
    ['a queue that goes back', 'UPDATE queues SET virtual_time = virtual_time - 1', /never goes back|CHECK/],
    ['outputs that are not JSON', "UPDATE jobs SET outputs = '[' WHERE job_id = {succeeded}", 'CHECK'],
    ['a digest of another length', insertJob({ request_digest: 'zeroblob(31)' }), 'CHECK'],
  ],
}

for (const [subject, rules] of Object.entries(refused)) {
  describe(`the database refuses, of ${subject}`, () => {
    test.each(rules)('%s', (_, sql, words) => {
      expect(() => attempt(sql)).toThrow(words)
    })
  })
}
