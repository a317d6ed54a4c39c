// What the tests of stores share: commands with sensible fields, and a job in the state that a test needs.
import { createHash } from 'node:crypto'
import type { NewKey } from '../../src/core/accounts/key.ts'
import { noLimits } from '../../src/core/accounts/limits.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { Asset } from '../../src/core/files/asset.ts'
import type { ClaimedJob, Job, JobError } from '../../src/core/jobs/job.ts'
import type { SweepCommand } from '../../src/core/jobs/sweep.ts'
import type { JobFilter, StartCommand, Store } from '../../src/core/store.ts'

/** A store that the test closes by `await using`. */
export type TestStore = Store & AsyncDisposable

/** Opens a store that nobody has used, on its own data, with the system's clock or another; `another` opens one more on the same data. */
export type OpenTestStore = (clock?: Clock) => Promise<TestStore & { another(name?: string): Promise<TestStore> }>

/** A clock that stands until the test moves it. */
export function createHeldClock(): Clock & { ms: number } {
  const clock = { ms: Date.parse('2026-11-20T10:00:00.000Z'), nowMs: () => clock.ms }
  return clock
}

/** A sweep as workers do it, with nothing left to chance. */
export function sweepOf(fields: Partial<SweepCommand> = {}): SweepCommand {
  return { leaseMs: 15_000, reviewMs: 72 * 3_600_000, limit: 100, random: 0, ...fields }
}

export const firstPage = { limit: 100, offset: 0 }
export const testError: JobError = { code: 'engine_failed', message: 'The engine failed.', retryable: true }
export const testAsset: Asset = {
  key: 'job_x/0.png',
  contentType: 'image/png',
  bytes: 12,
  width: 4,
  height: 3,
  durationSeconds: null,
  sha256: 'ab'.repeat(32),
  previewKey: 'job_x/0.preview.webp',
  blurhash: 'LEHV6nWB2yk8pyo0adR*.7kCMdnj',
}

/** A key of the account, without a name, whose text hashes to `secretHash`. */
export function keyOf(accountId: string, secretHash: Buffer, fields: Partial<NewKey> = {}): NewKey {
  return {
    accountId,
    name: null,
    prefix: 'mgk_test',
    secretHash,
    permissions: ['generate'],
    expiresAtMs: null,
    limits: noLimits,
    makerId: null,
    ...fields,
  }
}

let keys = 0

/** A start of the account; without an idempotency key of its own, one that nobody used. */
export function startOf(accountId: string, fields: Partial<StartCommand> = {}): StartCommand {
  const idempotencyKey = fields.idempotencyKey ?? `key-${(keys += 1)}`
  return {
    accountId,
    keyId: 'key_test',
    keyName: null,
    timeZone: 'UTC',
    usagePrice: null,
    labels: {},
    additions: {},
    trace: null,
    webhookUrl: null,
    model: 'test/image',
    input: { prompt: 'a lighthouse' },
    quoteId: 'quote_test',
    idempotencyKey,
    requestDigest: digestOf('the request'),
    credits: 10,
    maxQueuedJobs: 1000,
    priority: 0,
    expiresInMs: null,
    retainMs: 7 * 86_400_000,
    maxAttempts: 3,
    ...fields,
  }
}

export function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

export function filterOf(accountId: string, fields: Partial<JobFilter> = {}): JobFilter {
  return {
    accountId,
    status: null,
    model: null,
    idempotencyKey: null,
    search: null,
    withDeleted: false,
    limit: 100,
    offset: 0,
    ...fields,
  }
}

/** Starts a job and expects that it is a new one. */
export async function startJob(store: Store, accountId: string, fields: Partial<StartCommand> = {}): Promise<Job> {
  const result = await store.startGeneration(startOf(accountId, fields))
  if (result.outcome !== 'created') throw new Error(`start was ${result.outcome}`)
  return result.job
}

/** Claims one job of the model and expects that there is one. */
export async function claimOne(store: Store, model = 'test/image', leaseMs = 30_000): Promise<ClaimedJob> {
  const [claimed] = await store.claimJobs({ worker: 'worker-1', room: { [model]: 1 }, limit: 1, leaseMs })
  if (claimed === undefined) throw new Error('nothing to claim')
  return claimed
}

/** Claims one job of the model, and says that its run may cost money elsewhere. */
export async function claimPaid(store: Store, model?: string, leaseMs?: number): Promise<ClaimedJob> {
  const claimed = await claimOne(store, model, leaseMs)
  await store.saveCheckpoint(claimed.job.jobId, claimed.token, { checkpoint: null, afterLoss: 'never' })
  return claimed
}

/** The balance of an account, as a pair. */
export async function balanceOf(store: Store, accountId: string): Promise<[number, number]> {
  const account = await store.getAccount(accountId)
  if (account === null) throw new Error('no such account')
  return [account.available, account.held]
}

/** The kinds and credits of an account's entries, the oldest first. */
export async function entriesOf(store: Store, accountId: string): Promise<string[]> {
  const { items } = await store.listEntries(accountId, { limit: 500, offset: 0 })
  return items.map(({ kind, credits }) => `${kind} ${credits}`).toReversed()
}

/** Leaves an account with four jobs: one that succeeded, one that failed, one that runs and one that waits. */
export async function makeJobs(store: Store): Promise<void> {
  const { accountId } = await store.createAccount('a', 1000)
  for (const end of ['succeeded', 'failed', 'running', 'queued']) {
    await startJob(store, accountId)
    if (end === 'queued') continue
    const { job, token } = await claimOne(store)
    if (end === 'succeeded')
      await store.finishJob(job.jobId, token, { status: 'succeeded', outputs: [], creditsActual: 4 })
    if (end === 'failed') await store.finishJob(job.jobId, token, { status: 'failed', error: testError })
  }
}
