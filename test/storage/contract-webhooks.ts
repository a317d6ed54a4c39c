// The part of the store contract about webhooks: endpoints, the outbox that ends of jobs fill, and who may send what.
// P53, P54, P56.
import { expect, test } from 'vitest'
import type { AttemptResult, ClaimedDelivery, DeliveryClaim, DeliveryFilter } from '../../src/core/accounts/webhook.ts'
import type { Store } from '../../src/core/store.ts'
import {
  claimOne,
  claimPaid,
  createHeldClock,
  firstPage,
  type OpenTestStore,
  startJob,
  sweepOf,
  testAsset,
  testError,
} from './fixture.ts'

const secret = Buffer.alloc(32, 7)
const url = 'https://example.com/hooks'
export const taken: AttemptResult = { responseStatus: 200, error: null, durationMs: 12 }
/** What a sender wants that takes whatever is due. */
export const wanted: DeliveryClaim = {
  limit: 8,
  perWebhook: 8,
  perAccount: 8,
  unproven: { inAll: 8, perWebhook: 8, perAccount: 8 },
  unprovenHere: 0,
  leaseMs: 60_000,
}
const refused: AttemptResult = { responseStatus: 500, error: 'It answered 500.', durationMs: 3 }

const draft = { url, description: null, includeInput: false, secret }
export async function makeWebhook(store: Store, accountId: string, limit = 10): Promise<string> {
  const made = await store.createWebhook({ ...draft, accountId }, limit)
  if (made.outcome !== 'created') throw new Error(`the endpoint was ${made.outcome}`)
  return made.webhook.webhookId
}

/** Cancels a job before it runs: the shortest way to an end. */
export async function endJob(store: Store, accountId: string): Promise<string> {
  const { jobId } = await startJob(store, accountId, { credits: 0 })
  await store.requestCancel(accountId, jobId)
  return jobId
}

export const claim = (store: Store, fields: Partial<DeliveryClaim> = {}): Promise<readonly ClaimedDelivery[]> =>
  store.claimDeliveries({ ...wanted, ...fields })

export async function claimFirst(store: Store): Promise<ClaimedDelivery> {
  const [delivery] = await claim(store, { limit: 1 })
  if (delivery === undefined) throw new Error('nothing is due')
  return delivery
}

export const list = (store: Store, filter: Partial<DeliveryFilter> = {}) =>
  store.listDeliveries({ accountId: null, webhookId: null, jobId: null, status: null, ...firstPage, ...filter })

export function webhookTests(openStore: OpenTestStore): void {
  test('endpoints are made up to a limit, read by their account only, listed and deleted', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const other = await store.createAccount('b', 0)
    const made = await store.createWebhook({ ...draft, accountId, description: 'a note' }, 2)
    expect(made).toMatchObject({ webhook: { accountId, url, description: 'a note', disabledAtMs: null } })
    if (made.outcome !== 'created') return
    const { webhook } = made
    expect(webhook.webhookId).toMatch(/^wh_/)
    expect(webhook).not.toHaveProperty('secret')
    expect(await store.getWebhook(accountId, webhook.webhookId)).toEqual(webhook)
    expect(await store.getWebhook(other.accountId, webhook.webhookId)).toBeNull()
    const second = await makeWebhook(store, accountId, 2)
    const { outcome } = await store.createWebhook({ ...draft, accountId }, 2)
    const unknown = await store.createWebhook({ ...draft, accountId: 'acct_nobody' }, 2)
    expect([outcome, unknown.outcome]).toEqual(['too_many', 'no_account'])
    const foreign = await makeWebhook(store, other.accountId)
    const ids = async (account: string | null, page = firstPage) =>
      (await store.listWebhooks(account, page)).items.map(({ webhookId }) => webhookId)
    expect(await ids(accountId)).toEqual([second, webhook.webhookId])
    expect(await ids(accountId, { limit: 1, offset: 1 })).toEqual([webhook.webhookId])
    expect(await ids(null)).toEqual([foreign, second, webhook.webhookId])

    expect(await store.deleteWebhook(other.accountId, second)).toBe(false)
    expect(await store.deleteWebhook(accountId, second)).toBe(true)
    expect(await store.deleteWebhook(accountId, second)).toBe(false)
    expect(await ids(accountId)).toEqual([webhook.webhookId])
    await makeWebhook(store, accountId, 2)
  })

  test('each end of a job leaves a delivery for each endpoint of its account, and nothing for others', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    const silent = await store.createAccount('b', 100)
    await endJob(store, accountId)
    const one = await makeWebhook(store, accountId)
    const two = await makeWebhook(store, accountId)
    await endJob(store, silent.accountId)
    expect(await list(store)).toEqual({ items: [], total: 0 })
    const canceled = await endJob(store, accountId)
    const ended = []
    for (const outcome of [
      { status: 'succeeded', outputs: [testAsset], creditsActual: 3 },
      { status: 'failed', error: testError },
    ] as const) {
      await startJob(store, accountId)
      const { job, token } = await claimOne(store)
      expect((await list(store)).total).toBe(2 + 2 * ended.length)
      ended.push(await store.finishJob(job.jobId, token, outcome))
    }
    const { items, total } = await list(store)
    expect(total).toBe(6)
    expect(items.map(({ jobId, event }) => [jobId, event])).toEqual([
      [ended[1]?.jobId, 'job.failed'],
      [ended[1]?.jobId, 'job.failed'],
      [ended[0]?.jobId, 'job.succeeded'],
      [ended[0]?.jobId, 'job.succeeded'],
      [canceled, 'job.canceled'],
      [canceled, 'job.canceled'],
    ])
    expect(new Set(items.map(({ deliveryId }) => deliveryId)).size).toBe(6)
    expect(items[0]).toMatchObject({ accountId, url, status: 'pending', attempts: [], error: null, finishedAtMs: null })
    expect(items[0]?.nextAttemptAtMs).toBe(ended[1]?.finishedAtMs)
    const claimed = await claim(store)
    expect(claimed.filter(({ webhookId }) => webhookId === one)).toHaveLength(3)
    const success = claimed.find(({ webhookId, event }) => webhookId === two && event === 'job.succeeded')
    expect(success).toMatchObject({ url, secrets: [secret], attempt: 1, job: ended[0] })
    expect(success?.secrets[0]).toBeInstanceOf(Buffer)
  })

  test('messages say what a sweep ended, a review as it was when it began and again when it ended', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 100)
    await makeWebhook(store, accountId)
    await startJob(store, accountId, { expiresInMs: 1000 })
    clock.ms += 1000
    await store.sweep(sweepOf())
    const { jobId } = await startJob(store, accountId)
    await claimPaid(store)
    clock.ms += 30_000
    await store.sweep(sweepOf())
    const reviewed = await store.getJob(null, jobId)
    clock.ms += 72 * 3_600_000
    await store.sweep(sweepOf())
    const released = await store.getJob(null, jobId)
    expect([reviewed?.status, released?.status]).toEqual(['needs_review', 'failed'])
    expect((await claim(store)).map(({ event, job }) => [event, job.status])).toEqual([
      ['job.expired', 'expired'],
      ['job.needs_review', 'needs_review'],
      ['job.failed', 'failed'],
    ])
    expect((await list(store)).items.map(({ event }) => event)).toEqual([
      'job.failed',
      'job.needs_review',
      'job.expired',
    ])
  })

  test('a start, a claim and a wish to cancel are no ends', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 100)
    await makeWebhook(store, accountId)
    const { jobId } = await startJob(store, accountId)
    const { token } = await claimOne(store)
    await store.heartbeat([{ jobId, token, progress: 0.5 }], 1000)
    await store.finishJob(jobId, token, { status: 'queued' })
    await claimOne(store)
    await store.requestCancel(accountId, jobId)
    expect((await list(store)).total).toBe(0)
  })

  test('a claimed delivery cannot be claimed again until its lease ends', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 0)
    await makeWebhook(store, accountId)
    await endJob(store, accountId)
    expect(await store.hasDueDelivery(wanted)).toBe(true)
    expect(await store.hasDueDelivery({ ...wanted, unprovenHere: 8 })).toBe(false)
    clock.ms -= 1
    expect(await store.hasDueDelivery(wanted)).toBe(false)
    clock.ms += 1
    const [first] = await claim(store)
    expect(await claim(store)).toEqual([])
    expect(await store.hasDueDelivery(wanted)).toBe(false)
    clock.ms += 60_000
    expect(await store.hasDueDelivery(wanted)).toBe(true)
    // Given back: due at once, and the attempt does not count.
    const { deliveryId, token } = first as ClaimedDelivery
    const back = {
      deliveryId,
      token,
      attempt: null,
      next: { status: 'pending', waitMs: 0 },
      prompt: true,
      gone: false,
    } as const
    expect(await store.reportDelivery(back)).toBe(true)
    const second = await claimFirst(store)
    expect(second).toMatchObject({ deliveryId, attempt: 1, token: token + 1 })
    expect(await store.reportDelivery({ ...back, attempt: taken, next: { status: 'delivered' } })).toBe(false)
    expect((await list(store)).items).toMatchObject([{ status: 'pending', attempts: [] }])
  })

  test('attempts are written down one by one, up to the end', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 0)
    await makeWebhook(store, accountId)
    await endJob(store, accountId)
    for (let attempt = 1; attempt <= 3; attempt++) {
      const { deliveryId, token, ...claimed } = await claimFirst(store)
      expect(claimed.attempt).toBe(attempt)
      const next = attempt < 3 ? ({ status: 'pending', waitMs: 0 } as const) : ({ status: 'delivered' } as const)
      const result = attempt < 3 ? refused : taken
      expect(await store.reportDelivery({ deliveryId, token, attempt: result, next, prompt: true, gone: false })).toBe(
        true,
      )
      const [delivery] = (await list(store)).items
      expect(delivery).toMatchObject({ status: next.status, error: result.error })
      expect(delivery?.nextAttemptAtMs).toBe(attempt < 3 ? clock.ms : null)
      expect(delivery?.finishedAtMs === null).toBe(attempt < 3)
      expect(delivery?.attempts).toEqual(
        [refused, refused, taken]
          .slice(0, attempt)
          .map((one) => ({ ...one, attemptedAtMs: clock.ms - one.durationMs })),
      )
    }
    expect(await claim(store)).toEqual([])
  })

  test('a delivery that was given up is made again on request, its record kept', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    await makeWebhook(store, accountId)
    await endJob(store, accountId)
    const { deliveryId, token } = await claimFirst(store)
    await store.reportDelivery({
      deliveryId,
      token,
      attempt: refused,
      next: { status: 'failed' },
      prompt: true,
      gone: false,
    })
    expect((await list(store)).items).toMatchObject([
      { status: 'failed', error: refused.error, attempts: [refused], nextAttemptAtMs: null },
    ])
    expect(await store.redeliver(deliveryId)).toMatchObject({
      outcome: 'done',
      delivery: { deliveryId, status: 'pending', finishedAtMs: null, attempts: [refused] },
    })
    const again = await claimFirst(store)
    expect(again).toMatchObject({ deliveryId, attempt: 1 })
    const next = { status: 'delivered' } as const
    await store.reportDelivery({ deliveryId, token: again.token, attempt: taken, next, prompt: true, gone: false })
    expect((await list(store)).items).toMatchObject([{ status: 'delivered', error: null, attempts: [refused, taken] }])
    expect(await store.redeliver('dlv_nobody')).toEqual({ outcome: 'no_delivery' })
  })

  test('an endpoint that is gone gets nothing more until it takes something again', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const webhookId = await makeWebhook(store, accountId)
    await endJob(store, accountId)
    await endJob(store, accountId)
    const { deliveryId, token } = await claimFirst(store)
    const gone = { ...refused, responseStatus: 410 }
    await store.reportDelivery({
      deliveryId,
      token,
      attempt: gone,
      next: { status: 'failed' },
      prompt: true,
      gone: true,
    })
    expect((await store.getWebhook(accountId, webhookId))?.disabledAtMs).toBeTypeOf('number')
    expect((await list(store, { status: 'failed' })).total).toBe(2)
    await endJob(store, accountId)
    expect([(await list(store)).total, (await claim(store)).length]).toEqual([2, 0])
    await store.redeliver(deliveryId)
    const again = await claimFirst(store)
    const next = { status: 'delivered' } as const
    await store.reportDelivery({ deliveryId, token: again.token, attempt: taken, next, prompt: true, gone: false })
    expect((await store.getWebhook(accountId, webhookId))?.disabledAtMs).toBeNull()
    await endJob(store, accountId)
    expect(await claim(store)).toHaveLength(1)
  })

  test('a deleted endpoint gets nothing more, and what was sent to it stays on record', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 0)
    const webhookId = await makeWebhook(store, accountId)
    await endJob(store, accountId)
    const { deliveryId, token } = await claimFirst(store)
    await store.deleteWebhook(accountId, webhookId)
    const next = { status: 'delivered' } as const
    expect(await store.reportDelivery({ deliveryId, token, attempt: taken, next, prompt: true, gone: false })).toBe(
      false,
    )
    await endJob(store, accountId)
    expect(await list(store)).toMatchObject({
      total: 1,
      items: [{ deliveryId, status: 'failed', error: 'The endpoint was deleted.' }],
    })
    expect(await store.redeliver(deliveryId)).toEqual({ outcome: 'no_webhook' })
    clock.ms += 365 * 86_400_000
    expect(await store.hasDueDelivery(wanted)).toBe(false)
  })

  test('a delivery waits no longer than planned, also when the clock goes back', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 0)
    await makeWebhook(store, accountId)
    await endJob(store, accountId)
    const { deliveryId, token } = await claimFirst(store)
    const next = { status: 'pending', waitMs: 5000 } as const
    await store.reportDelivery({ deliveryId, token, attempt: refused, next, prompt: true, gone: false })
    expect(await store.sweep(sweepOf())).toMatchObject({ rebased: 0 })
    clock.ms -= 3_600_000
    expect(await store.sweep(sweepOf())).toMatchObject({ rebased: 1 })
    expect(await store.sweep(sweepOf())).toMatchObject({ rebased: 0 })
    clock.ms += 4999
    expect(await claim(store)).toEqual([])
    clock.ms += 1
    const again = await claimFirst(store)
    // A claim is a wait, too: its lease is as long as ever.
    clock.ms -= 3_600_000
    await store.sweep(sweepOf())
    clock.ms += 59_999
    expect(await store.hasDueDelivery(wanted)).toBe(false)
    clock.ms += 1
    expect(await store.hasDueDelivery(wanted)).toBe(true)
    const done = { token: again.token, attempt: taken, next: { status: 'delivered' } as const }
    await store.reportDelivery({ deliveryId, ...done, prompt: true, gone: false })
    const [delivery] = (await list(store)).items
    expect(delivery?.finishedAtMs).toBe(delivery?.createdAtMs)
  })

  test('an end that the clock would put before its job began is sent at once', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 100)
    await makeWebhook(store, accountId)
    const { createdAtMs } = await startJob(store, accountId)
    clock.ms -= 3_600_000
    const { job, token } = await claimOne(store)
    expect(job.startedAtMs).toBe(createdAtMs)
    const ended = await store.finishJob(job.jobId, token, { status: 'failed', error: testError })
    expect(ended?.finishedAtMs).toBe(createdAtMs)
    await store.sweep(sweepOf())
    expect(await claim(store)).toMatchObject([{ event: 'job.failed', createdAtMs }])
  })

  test('finished deliveries are deleted after 30 days, some in each sweep; waiting ones are kept', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 0)
    await makeWebhook(store, accountId)
    for (let i = 0; i < 4; i++) await endJob(store, accountId)
    for (const [index, { deliveryId, token }] of (await claim(store, { limit: 3 })).entries()) {
      const next = { status: index === 0 ? 'delivered' : 'failed' } as const
      await store.reportDelivery({
        deliveryId,
        token,
        attempt: index === 0 ? taken : refused,
        next,
        prompt: true,
        gone: false,
      })
    }
    clock.ms += 30 * 86_400_000 - 1
    expect(await store.sweep(sweepOf({ limit: 2 }))).toMatchObject({ forgotten: 0, more: false })
    clock.ms += 1
    expect(await store.sweep(sweepOf({ limit: 2 }))).toMatchObject({ forgotten: 2, more: true })
    expect(await store.sweep(sweepOf({ limit: 2 }))).toMatchObject({ forgotten: 1, more: false })
    expect(await list(store)).toMatchObject({ total: 1, items: [{ status: 'pending' }] })
  })

  test('deliveries are listed newest first by account, endpoint, job and state, with exact totals', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const other = await store.createAccount('b', 0)
    const one = await makeWebhook(store, accountId)
    const two = await makeWebhook(store, accountId)
    await makeWebhook(store, other.accountId)
    const job = await endJob(store, accountId)
    await endJob(store, accountId)
    await endJob(store, other.accountId)
    const claimed = (await claim(store)).filter(({ webhookId }) => webhookId === one)
    for (const [index, { deliveryId, token }] of claimed.entries()) {
      const next = index === 0 ? ({ status: 'delivered' } as const) : ({ status: 'failed' } as const)
      await store.reportDelivery({
        deliveryId,
        token,
        attempt: index === 0 ? taken : refused,
        next,
        prompt: true,
        gone: false,
      })
    }
    const count = async (filter: Partial<DeliveryFilter>) => {
      const { items, total } = await list(store, filter)
      expect(items).toHaveLength(total)
      return total
    }
    expect(await count({})).toBe(5)
    expect(await count({ accountId })).toBe(4)
    expect(await count({ accountId: other.accountId })).toBe(1)
    expect(await count({ webhookId: two })).toBe(2)
    expect(await count({ accountId: other.accountId, webhookId: two })).toBe(0)
    expect(await count({ jobId: job })).toBe(2)
    expect(await count({ jobId: job, status: 'delivered' })).toBe(1)
    expect(await count({ jobId: 'job_nobody' })).toBe(0)
    expect(await count({ status: 'pending' })).toBe(3)
    expect(await count({ status: 'delivered' })).toBe(1)
    expect(await count({ status: 'failed' })).toBe(1)
    expect(await count({ webhookId: one, status: 'pending' })).toBe(0)
    expect(await count({ accountId, status: 'delivered' })).toBe(1)
    const { items } = await list(store)
    expect(await list(store, { limit: 2, offset: 1 })).toEqual({ items: items.slice(1, 3), total: 5 })
  })
}
