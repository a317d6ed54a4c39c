// The store on SQLite: the contract on a real file, then reviews, other connections, held time and a writer that dies.
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { getPriority } from 'node:os'
import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isDatabaseTrouble } from '../../src/core/storage-trouble.ts'
import { openSqliteStore } from '../../src/storage/sqlite/open.ts'
import { openGroupCommit } from '../../src/storage/sqlite/threads/group-commit.ts'
import { startWriterThread } from '../../src/storage/sqlite/threads/threads.ts'
import { storeContract } from './contract.ts'
import {
  balanceOf,
  claimOne,
  claimPaid,
  createHeldClock,
  digestOf,
  entriesOf,
  filterOf,
  firstPage,
  startJob,
  startOf,
  testError,
} from './fixture.ts'
import { createTestFolder, openRaw, openStoreAt, openTemporaryStore } from './sqlite-fixture.ts'
import { usageOf } from './usage-sums.ts'

storeContract('sqlite', openTemporaryStore)

describe('reviews', () => {
  test.each([
    { charge: 10, status: 'succeeded', progress: 1, error: null, entries: ['charge 10'] },
    { charge: 4, status: 'succeeded', progress: 1, error: null, entries: ['charge 4', 'release 6'] },
    { charge: 0, status: 'failed', progress: 0.5, error: { code: 'outcome_unknown' }, entries: ['release 10'] },
  ])('a job under review is resolved with $charge of 10', async ({ charge, entries, ...expected }) => {
    using file = createTestFolder()
    await using store = await openStoreAt(file.path)
    const { accountId } = await store.createAccount('a', 100)
    await startJob(store, accountId)
    const { job, token } = await claimPaid(store)
    await store.heartbeat([{ jobId: job.jobId, token, progress: 0.5 }], 1000)
    await store.finishJob(job.jobId, token, { status: 'queued' })
    expect(await store.finishJob(job.jobId, token, { status: 'failed', error: testError })).toBeNull()
    expect(await store.requestCancel(accountId, job.jobId)).toMatchObject({ status: 'needs_review' })
    expect(await balanceOf(store, accountId)).toEqual([90, 10])
    expect((await store.verifyLedger()).problems).toEqual([])

    expect(await store.resolveReview(job.jobId, 11)).toEqual({ outcome: 'above_hold', creditsHeld: 10 })
    expect(await store.resolveReview(job.jobId, charge)).toMatchObject({
      outcome: 'done',
      job: { ...expected, creditsCharged: charge, creditsReleased: 10 - charge },
    })
    expect(await store.resolveReview(job.jobId, charge)).toEqual({ outcome: 'not_in_review', status: expected.status })
    expect(await entriesOf(store, accountId)).toEqual(['grant 100', 'hold 10', ...entries])
    expect((await store.verifyLedger()).problems).toEqual([])
  })
})

describe('files that are moved while they are in use', () => {
  test.each(['', '-wal'])(
    'P385: without its own file%s the store takes no more changes, until it is back',
    async (end) => {
      using file = createTestFolder()
      await using store = await openStoreAt(file.path)
      const { accountId } = await store.createAccount('a', 100)
      await startJob(store, accountId)
      const moved = `${file.path}${end}`
      renameSync(moved, `${moved}.moved`)
      copyFileSync(`${moved}.moved`, moved)
      for (const change of [() => store.startGeneration(startOf(accountId)), () => store.check()]) {
        const refusal: unknown = await change().catch((error: unknown) => error)
        expect(isDatabaseTrouble(refusal)).toBe(true)
        expect(refusal).toMatchObject({ message: expect.stringContaining(`file ${basename(moved)} was moved`) })
      }
      rmSync(moved)
      symlinkSync(moved, moved)
      await expect(store.startGeneration(startOf(accountId))).rejects.toThrow(/cannot be looked at: ELOOP/)
      rmSync(moved)
      renameSync(`${moved}.moved`, moved)
      await startJob(store, accountId)
      expect(await balanceOf(store, accountId)).toEqual([80, 20])
    },
  )
})

describe('several connections', () => {
  test('two stores on one file share its state, and neither loses a write', async () => {
    using file = createTestFolder()
    await using server = await openSqliteStore({ path: file.path })
    await using cli = await openSqliteStore({ path: file.path })
    const { accountId } = await server.createAccount('a', 0)
    const { promise: notified, resolve } = Promise.withResolvers<void>()
    const stop = server.onNotification((jobs) => jobs === null && resolve())
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? server : cli).grantCredits(accountId, 1, null)),
    )
    await notified
    stop()
    expect(await balanceOf(server, accountId)).toEqual([40, 0])
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        (index % 2 === 0 ? server : cli).startGeneration(startOf(accountId, { credits: 1 })),
      ),
    )
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? server : cli).claimJobs({ worker: 'w', room: { 'test/image': 5 }, limit: 5, leaseMs: 1000 }),
      ),
    )
    const ids = claims.flat().map(({ job }) => job.jobId)
    expect([ids.length, new Set(ids).size]).toEqual([40, 40])
    expect(await cli.getAccount(accountId)).toEqual(await server.getAccount(accountId))
    expect((await cli.verifyLedger()).problems).toEqual([])
  })

  test('many processes may open a new file at once', async () => {
    using file = createTestFolder()
    const stores = await Promise.all(Array.from({ length: 6 }, () => openSqliteStore({ path: file.path })))
    await Promise.all(stores.map((store, index) => store.createAccount(`a${index}`, index)))
    expect((await stores[0]?.listAccounts(firstPage))?.total).toBe(6)
    await Promise.all(stores.map((store) => store.close()))
  })

  test('a failing command does not affect others, and the writer goes on', async () => {
    using file = createTestFolder()
    await using store = await openStoreAt(file.path)
    const { accountId } = await store.createAccount('a', 100)
    const results = await Promise.allSettled([
      store.startGeneration(startOf(accountId)),
      store.startGeneration(startOf('acct_nobody')),
      store.startGeneration(startOf(accountId, { idempotencyKey: 'x'.repeat(256) })),
      store.startGeneration(startOf(accountId)),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    expect(results[2]).toMatchObject({ reason: { name: 'StorageError', code: 'SQLITE_CONSTRAINT_CHECK' } })
    expect(await balanceOf(store, accountId)).toEqual([80, 20])
    expect((await store.verifyLedger()).problems).toEqual([])
  })
})

describe('the writer thread', () => {
  test.runIf(process.platform === 'linux')('has a lower priority than the main thread', async () => {
    const before = new Set(listWriters().map(({ thread }) => thread))
    using file = createTestFolder()
    await using _store = await openSqliteStore({ path: file.path })
    const [writer, ...others] = listWriters().filter(({ thread }) => !before.has(thread))
    expect(others).toEqual([])
    expect(writer?.nice).toBe(Math.min(getPriority() + 5, 19))
  })

  test('writes the time of the clock that it was opened with', async () => {
    using file = createTestFolder()
    let nowMs = 1_000_000
    await using store = await openStoreAt(file.path, { clock: { nowMs: () => nowMs } })
    const { accountId, createdAtMs } = await store.createAccount('a', 100)
    nowMs += 500
    const job = await startJob(store, accountId)
    nowMs += 500
    const { job: running } = await claimOne(store)
    expect([createdAtMs, job.createdAtMs, running.startedAtMs]).toEqual([1_000_000, 1_000_500, 1_001_000])
  })

  test('commands of one turn are committed together', async () => {
    using file = createTestFolder()
    await using store = await openSqliteStore({ path: file.path })
    const { accountId } = await store.createAccount('a', 1000)
    using db = openRaw(file.path)
    const version = () => db.pragma('data_version', { simple: true })
    let groups = 0
    store.onNotification(() => (groups += 1))
    const before = version()
    await Promise.all(Array.from({ length: 50 }, () => startJob(store, accountId)))
    expect(groups).toBe(1)
    expect(version()).not.toBe(before)
  })

  test('MEDIAGEN_MAX_QUEUED_WRITES: further changes are refused while the disk stands still; reports of workers are not', async () => {
    using file = createTestFolder()
    await using store = await openSqliteStore({ path: file.path, maxQueuedWrites: 10 })
    const { accountId } = await store.createAccount('a', 1000)
    const running = await startJob(store, accountId)
    const { token } = await claimOne(store)
    using other = openRaw(file.path)
    other.exec('BEGIN IMMEDIATE')
    const waiting = Array.from({ length: 10 }, () => store.startGeneration(startOf(accountId)))
    const beyond = [store.startGeneration(startOf(accountId)), store.grantCredits(accountId, 1, null), store.check()]
    for (const refused of beyond)
      await expect(refused).rejects.toMatchObject({
        code: 'storage_unavailable',
        message: expect.stringContaining('MEDIAGEN_MAX_QUEUED_WRITES, 10'),
        details: { retryAfterSeconds: 5 },
      })
    const ended = store.finishJob(running.jobId, token, { status: 'failed', error: testError })
    other.exec('ROLLBACK')
    for (const { outcome } of await Promise.all(waiting)) expect(outcome).toBe('created')
    expect(await ended).toMatchObject({ status: 'failed' })
    expect((await store.startGeneration(startOf(accountId))).outcome).toBe('created')
  })

  test('the input of a job is removed when its retention is over, however it ended; its start can still be repeated', async () => {
    using file = createTestFolder()
    const clock = createHeldClock()
    await using store = await openStoreAt(file.path, { clock })
    const { accountId } = await store.createAccount('a', 100)
    const hourMs = 3_600_000
    const commandOf = (idempotencyKey: string, retainMs: number | null) =>
      startOf(accountId, { idempotencyKey, retainMs, input: { prompt: idempotencyKey } })
    for (const [key, retainMs] of Object.entries({ soon: hourMs, later: 3 * hourMs, ever: null, queued: hourMs })) {
      const started = await store.startGeneration(commandOf(key, retainMs))
      if (key !== 'queued' && started.outcome === 'created') await store.requestCancel(accountId, started.job.jobId)
    }
    using db = openRaw(file.path)
    const inputs = () => db.prepare("SELECT input ->> 'prompt' FROM job_inputs ORDER BY number").pluck().all()
    expect(inputs()).toEqual(['soon', 'later', 'ever', 'queued'])
    clock.ms += 2 * hourMs
    expect(await store.hasExpired()).toBe(true)
    expect(await store.expireFiles(10), 'there are no files').toEqual([])
    expect(await store.hasExpired()).toBe(false)
    expect(inputs()).toEqual(['later', 'ever', 'queued'])
    expect((await claimOne(store)).input).toEqual({ prompt: 'queued' })
    const again = commandOf('soon', hourMs)
    expect((await store.startGeneration(again)).outcome).toBe('replayed')
    expect((await store.startGeneration({ ...again, requestDigest: digestOf('x') })).outcome).toBe('key_reused')
  })

  test('a long list delays no other read', async () => {
    await using store = await openTemporaryStore()
    const { accountId } = await store.createAccount('a', 100)
    const { jobId } = await startJob(store, accountId)
    const order: string[] = []
    const deep = { ...filterOf(accountId, { status: 'queued', model: 'test/image' }), offset: 1_000_000 }
    const list = store.listJobs(deep).then(({ total }) => order.push(`list of ${total}`))
    await store.getJob(accountId, jobId).then(() => order.push('job'))
    await list
    expect(order).toEqual(['job', 'list of 1'])
  })

  test('P209: usage with many labels delays no list of another account', async () => {
    using file = createTestFolder()
    await using store = await openStoreAt(file.path)
    const [first, second, third] = await Promise.all(['a', 'b', 'c'].map((name) => store.createAccount(name, 100)))
    const many = [first?.accountId ?? '', second?.accountId ?? '']
    {
      using db = openRaw(file.path)
      const add = db.prepare("INSERT INTO usage VALUES (?, '2026-11-20', 'test/image', 'key_a', ?, 1, 1, 1)")
      for (const owner of many) for (let n = 0; n < 1201; n++) add.run(owner, JSON.stringify({ n: `${n}` }))
    }
    const order: string[] = []
    const reports = many.map(async (owner) => {
      const page = await store.listUsage(usageOf(owner, ['label:n']))
      order.push('usage')
      return page
    })
    await store.listJobs(filterOf(third?.accountId ?? '')).then(() => order.push('list'))
    for (const page of await Promise.all(reports))
      expect(page).toMatchObject({ total: 1201, sum: { jobs: 1201, succeeded: 1201, charged: 1201 } })
    expect(order).toEqual(['list', 'usage', 'usage'])
  })

  test('usage of all accounts leaves out other days; one with too many rows is refused with what to change', async () => {
    using file = createTestFolder()
    await using store = await openStoreAt(file.path)
    const { accountId } = await store.createAccount('a', 100)
    const { accountId: other } = await store.createAccount('b', 100)
    {
      using db = openRaw(file.path)
      const add =
        db.prepare(`WITH RECURSIVE series(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM series LIMIT :rows)
        INSERT INTO usage SELECT :owner, :day, 'test/image', 'key_a', '{"n":"' || :day || value || '"}', 1, 1, 1 FROM series`)
      for (const owner of [accountId, other])
        for (const day of ['2026-11-18', '2026-11-20', '2026-11-22']) add.run({ owner, day, rows: 700 })
      expect(await store.listUsage(usageOf(null, ['account'], { from: '2026-11-20', to: '2026-11-20' }))).toMatchObject(
        { total: 2, sum: { jobs: 1400 } },
      )
      add.run({ owner: accountId, day: '2026-11-21', rows: 200_501 })
    }
    await expect(store.listUsage(usageOf(accountId, ['label:n']))).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('fewer days (from, to)'),
    })
  })

  test('MEDIAGEN_MAX_QUEUED_READS: a list is refused while this many wait', async () => {
    using file = createTestFolder()
    await using store = await openStoreAt(file.path, { maxQueuedReads: 2 })
    const lists = Array.from({ length: 3 }, () => store.listAccounts(firstPage))
    await expect(lists[2]).rejects.toMatchObject({
      code: 'overloaded',
      message: expect.stringContaining('MEDIAGEN_MAX_QUEUED_READS, 2'),
      details: { retryAfterSeconds: 2 },
    })
    expect(await Promise.all(lists.slice(0, 2))).toMatchObject([{ total: 0 }, { total: 0 }])
    expect(await store.listAccounts(firstPage)).toEqual({ items: [], total: 0 })
  })

  test('a writer that dies rejects pending and later commands', async () => {
    using file = createTestFolder()
    const writer = await openGroupCommit(
      { path: file.path, migrates: true },
      { nowMs: () => 0 },
      { onNotification: () => {}, onActs: () => {} },
      startWriterThread(new URL('./dying-writer.ts', import.meta.url)),
      () => 0,
    )
    const waiting = [writer.submit('createAccount', 'a', 0), writer.submit('createAccount', 'b', 0)]
    for (const { status } of await Promise.allSettled(waiting)) expect(status).toBe('rejected')
    await expect(waiting[0]).rejects.toThrow('the storage writer has died')
    await expect(writer.submit('createAccount', 'c', 0)).rejects.toThrow('the storage writer has died')
    await writer.close()
  })

  test('a command that cannot cross threads is rejected, and nothing else', async () => {
    await using store = await openTemporaryStore()
    const { accountId } = await store.createAccount('a', 100)
    const unclonable = {
      status: 'failed',
      error: { ...testError, message: (() => 'not text') as unknown as string },
    } as const
    await expect(store.finishJob('job_x', 1, unclonable)).rejects.toThrow('cannot be stored')
    expect(await balanceOf(store, accountId)).toEqual([100, 0])
  })

  test('while changes wait too long for the disk, those of clients are refused, and those of workers are not', async () => {
    using file = createTestFolder()
    const held = { ms: 0 }
    await using store = await openSqliteStore({ path: file.path, maxQueueMs: 1000, monotonicMs: () => held.ms })
    const { accountId } = await store.createAccount('a', 1000)
    expect(store.writeDelayMs()).toBe(0)
    using db = openRaw(file.path)
    // Another process that writes and writes: the writer waits.
    db.exec('BEGIN IMMEDIATE')
    const waiting = startJob(store, accountId)
    await new Promise(setImmediate)
    held.ms = 1000
    const second = startJob(store, accountId)
    await new Promise(setImmediate)
    held.ms = 1001
    expect(store.writeDelayMs()).toBe(1001)
    await expect(startJob(store, accountId)).rejects.toMatchObject({
      code: 'overloaded',
      details: { retryAfterSeconds: 2 },
    })
    await expect(store.requestCancel(accountId, 'job_x')).rejects.toMatchObject({ code: 'overloaded' })
    const beat = store.heartbeat([], 1000)
    db.exec('ROLLBACK')
    expect((await waiting).status).toBe('queued')
    expect((await second).status).toBe('queued')
    expect(await beat).toMatchObject({ lost: [] })
    expect(store.writeDelayMs()).toBe(0)
    expect((await startJob(store, accountId)).status).toBe('queued')
    expect(
      (
        await store.listJobs({
          accountId,
          status: null,
          model: null,
          idempotencyKey: null,
          search: null,
          withDeleted: false,
          limit: 10,
          offset: 0,
        })
      ).total,
    ).toBe(3)
  })
})

/** The writer threads of this process, by proc_pid_stat(5). */
function listWriters() {
  return readdirSync('/proc/self/task').flatMap((thread) => {
    const [, name = '', fields = ''] =
      /\((.*)\) (.*)/.exec(readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')) ?? []
    return name === 'sqlite-writer' ? [{ thread, nice: Number(fields.split(' ')[16]) }] : []
  })
}
