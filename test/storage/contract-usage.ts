// The part of the store contract about usage (P293, P294).
import { expect, test } from 'vitest'
import type { StartCommand, Store } from '../../src/core/store.ts'
import {
  claimOne,
  claimPaid,
  createHeldClock,
  digestOf,
  keyOf,
  type OpenTestStore,
  startJob,
  sweepOf,
  testError,
} from './fixture.ts'
import { expectUsage, usageOf, variedStart } from './usage-sums.ts'

const today = '2026-11-20'
const dayMs = 86_400_000

/** A job that ended, and what it was charged; null fails it. */
async function endJob(store: Store, accountId: string, charge: number | null, fields: Partial<StartCommand> = {}) {
  await startJob(store, accountId, { credits: charge ?? 10, ...fields })
  const { job, token } = await claimOne(store, fields.model)
  const end =
    charge === null
      ? ({ status: 'failed', error: testError } as const)
      : ({ status: 'succeeded', outputs: [], creditsActual: charge } as const)
  await store.finishJob(job.jobId, token, end)
}

export function usageTests(openStore: OpenTestStore): void {
  test('jobs count on the day of their start, when they have ended, however they ended', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    const read = async () => await store.listUsage(usageOf(accountId, ['day']))
    expect(await read()).toEqual({ items: [], total: 0, sum: { jobs: 0, succeeded: 0, charged: 0 } })
    await endJob(store, accountId, 4)
    await endJob(store, accountId, 0)
    await endJob(store, accountId, null)
    const late = await startJob(store, accountId, { model: 'test/late', expiresInMs: 1000 })
    await startJob(store, accountId, { model: 'test/paid' })
    await startJob(store, accountId)
    const { job, token } = await claimOne(store)
    const paid = await claimPaid(store, 'test/paid')
    await store.finishJob(paid.job.jobId, paid.token, { status: 'needs_review' })
    await store.finishJob(job.jobId, token, { status: 'queued' })
    expect((await read()).sum).toEqual({ jobs: 3, succeeded: 2, charged: 4 })

    clock.ms += dayMs
    const canceled = await startJob(store, accountId, { model: 'test/canceled' })
    await store.requestCancel(accountId, canceled.jobId)
    await store.sweep(sweepOf())
    expect(await store.getJob(accountId, late.jobId)).toMatchObject({ status: 'expired' })
    await store.resolveReview(paid.job.jobId, 3)
    const again = await claimOne(store)
    await store.finishJob(job.jobId, again.token, { status: 'succeeded', outputs: [], creditsActual: 7 })
    const rest = { accountId: null, accountName: null, model: null, keyId: null, keyName: null, labels: {} }
    expect(await read()).toEqual({
      items: [
        { ...rest, day: today, jobs: 6, succeeded: 4, charged: 14 },
        { ...rest, day: '2026-11-21', jobs: 1, succeeded: 0, charged: 0 },
      ],
      total: 2,
      sum: { jobs: 7, succeeded: 4, charged: 14 },
    })
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('groups by model, key and label, the most expensive first', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    const { accountId: other } = await store.createAccount('b', 1000)
    const key = await store.createKey(keyOf(accountId, digestOf('usage'), { name: 'ads team' }))
    if (key === null) throw new Error('no account')
    const { keyId } = key
    await endJob(store, other, 100, { labels: { team: 'ads' } })
    await endJob(store, accountId, 5, { keyId, labels: { team: 'ads', 'cost.centre-1': 'Zürich "9"' } })
    await endJob(store, accountId, 6, { keyId, labels: { team: 'art' } })
    await endJob(store, accountId, 7, { model: 'test/other', labels: { team: 'ads' } })
    await endJob(store, accountId, 1)
    clock.ms += dayMs
    await endJob(store, accountId, 3, { labels: { team: 'art' } })
    const read = async (...args: Parameters<typeof usageOf> extends [string | null, ...infer Rest] ? Rest : never) => {
      const { items, total } = await store.listUsage(usageOf(accountId, ...args))
      return [
        total,
        ...items.map(({ day, model, keyId, keyName, labels, charged }) =>
          [day ?? model ?? keyId ?? labels, charged, keyName].filter((one) => one !== null),
        ),
      ]
    }
    expect(await read(['model'])).toEqual([2, ['test/image', 15], ['test/other', 7]])
    expect(await read(['key'])).toEqual([2, [keyId, 11, 'ads team'], ['key_test', 11]])
    expect(await read(['label:team'])).toEqual([3, [{ team: 'ads' }, 12], [{ team: 'art' }, 9], [{}, 1]])
    expect(await read(['label:cost.centre-1'])).toEqual([2, [{}, 17], [{ 'cost.centre-1': 'Zürich "9"' }, 5]])
    expect(await read(['label:nobody'])).toEqual([1, [{}, 22]])
    expect(await read(['day'], { to: today })).toEqual([1, [today, 19]])
    expect(await read(['day'], { from: '2026-11-21', to: '2026-11-21' })).toEqual([1, ['2026-11-21', 3]])
    const { items } = await store.listUsage(usageOf(accountId, ['label:team', 'day']))
    expect(items.map(({ day, labels, charged }) => [day, labels['team'], charged])).toEqual([
      [today, 'ads', 12],
      [today, 'art', 6],
      [today, undefined, 1],
      ['2026-11-21', 'art', 3],
    ])
  })

  test('pages cover all rows once, and each has the sum of all', async () => {
    await using store = await openStore(createHeldClock())
    const { accountId } = await store.createAccount('a', 1000)
    for (const model of ['e', 'a', 'd', 'c', 'b']) await endJob(store, accountId, 2, { model: `test/${model}` })
    const page = (offset: number) => store.listUsage(usageOf(accountId, ['model'], { limit: 2, offset }))
    const pages = await Promise.all([0, 2, 4, 6].map(page))
    expect(pages.map(({ items }) => items.map(({ model }) => model))).toEqual([
      ['test/a', 'test/b'],
      ['test/c', 'test/d'],
      ['test/e'],
      [],
    ])
    for (const { total, sum } of pages)
      expect({ total, sum }).toEqual({ total: 5, sum: { jobs: 5, succeeded: 5, charged: 10 } })
  })

  test('labels as long as they may be, and jobs that are forgotten', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 1000)
    const long = (n: number) =>
      Object.fromEntries(
        Array.from({ length: 16 }, (_, index) => [
          `label-${index}`,
          digestOf(`${n} ${index}`).toString('hex').repeat(4),
        ]),
      )
    for (const n of [1, 2, 1]) await endJob(store, accountId, 2, { labels: long(n), retainMs: null })
    const before = await store.listUsage(usageOf(accountId, ['label:label-3']))
    expect(before).toMatchObject({
      total: 2,
      items: [
        { jobs: 2, charged: 4 },
        { jobs: 1, charged: 2 },
      ],
    })
    clock.ms += 31 * dayMs
    expect(await store.forgetJobs({ keepMs: 30 * dayMs, after: 0, limit: 10 })).toMatchObject({ jobs: 2 })
    expect(await store.listUsage(usageOf(accountId, ['label:label-3']))).toEqual(before)
    expect((await store.verifyLedger()).problems).toEqual([])
  })

  test('many jobs that end at once', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 1000)
    await Promise.all(
      Array.from({ length: 30 }, (_, n) => startJob(store, accountId, { credits: n, ...variedStart(n) })),
    )
    const claimed = await store.claimJobs({ worker: 'w', room: { 'test/image': 30 }, limit: 30, leaseMs: 30_000 })
    await Promise.all(
      claimed.map(({ job: { jobId, creditsHeld }, token }) =>
        store.finishJob(jobId, token, { status: 'succeeded', outputs: [], creditsActual: creditsHeld }),
      ),
    )
    await expectUsage(store, accountId)
  })
}
