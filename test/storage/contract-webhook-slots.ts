// The part of the store contract about the slots of senders, which go to endpoints that have proven to answer promptly, and about
// endpoints that leave.
import { expect, test } from 'vitest'
import type { ClaimedDelivery, DeliveryClaim } from '../../src/core/accounts/webhook.ts'
import { claim, endJob, list, makeWebhook, taken, wanted } from './contract-webhooks.ts'
import { createHeldClock, firstPage, type OpenTestStore, sweepOf, type TestStore } from './fixture.ts'

const caps = { limit: 64, perWebhook: 2, perAccount: 4, unproven: { inAll: 32, perWebhook: 1, perAccount: 2 } }

/** An account with endpoints, and deliveries that are due to each of them. */
async function makeAccount(store: TestStore, endpoints: number, deliveries: number): Promise<string> {
  const { accountId } = await store.createAccount('a', 0)
  for (let i = 0; i < endpoints; i++) await makeWebhook(store, accountId, 1000)
  for (let i = 0; i < deliveries; i++) await endJob(store, accountId)
  return accountId
}

/** Reports that attempts went well, promptly or late. */
async function report(store: TestStore, claimed: readonly ClaimedDelivery[], prompt: boolean): Promise<void> {
  for (const { deliveryId, token } of claimed)
    await store.reportDelivery({
      deliveryId,
      token,
      attempt: taken,
      next: { status: 'delivered' },
      prompt,
      gone: false,
    })
}

/** Gives claims back: whether anybody answered is not known. */
async function giveBack(store: TestStore, claimed: readonly ClaimedDelivery[], waitMs: number): Promise<void> {
  for (const { deliveryId, token } of claimed) {
    const next = { status: 'pending', waitMs } as const
    await store.reportDelivery({ deliveryId, token, attempt: null, next, prompt: false, gone: false })
  }
}

export function webhookSlotTests(openStore: OpenTestStore): void {
  const claimWithin = (store: TestStore, fields: Partial<DeliveryClaim> = {}) => claim(store, { ...caps, ...fields })

  test('a deleted endpoint leaves with the last of its deliveries, one without any at once', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 0)
    const tried = await makeWebhook(store, accountId)
    await endJob(store, accountId)
    const [kept, untried] = [await makeWebhook(store, accountId), await makeWebhook(store, accountId)]
    for (const webhookId of [tried, untried]) await store.deleteWebhook(accountId, webhookId)
    expect(await store.sweep(sweepOf())).toMatchObject({ dropped: 1 })
    clock.ms += 30 * 86_400_000 - 1
    expect(await store.sweep(sweepOf())).toMatchObject({ forgotten: 0, dropped: 0 })
    expect(await list(store)).toMatchObject({ total: 1, items: [{ webhookId: tried, status: 'failed' }] })
    clock.ms += 1
    expect(await store.sweep(sweepOf())).toMatchObject({ forgotten: 1, dropped: 1 })
    expect(await list(store)).toMatchObject({ total: 0 })
    expect(await store.listWebhooks(accountId, firstPage)).toMatchObject({ items: [{ webhookId: kept }], total: 1 })
  })

  test('the new endpoints of an account have two slots until one has answered, which then has its own', async () => {
    await using store = await openStore()
    await makeAccount(store, 3, 4)
    const first = await claimWithin(store)
    expect(first.map(({ proven }) => proven)).toEqual([false, false])
    expect(new Set(first.map(({ webhookId }) => webhookId)).size).toBe(2)
    expect(await claimWithin(store)).toEqual([])
    const [one, other] = first as [ClaimedDelivery, ClaimedDelivery]
    await report(store, [one], true)
    const next = await claimWithin(store)
    const third = next.find(({ proven }) => !proven)
    expect([one.webhookId, other.webhookId]).not.toContain(third?.webhookId)
    expect(next.filter((claimed) => claimed !== third).map(({ webhookId }) => webhookId)).toEqual([
      one.webhookId,
      one.webhookId,
    ])
  })

  test('one that was slow is proven again after eleven prompt attempts', async () => {
    await using store = await openStore()
    await makeAccount(store, 1, 30)
    await report(store, await claimWithin(store), true)
    const [one, other] = await claimWithin(store)
    await report(store, [one as ClaimedDelivery], false)
    // What was under way meanwhile counts, too.
    await report(store, [other as ClaimedDelivery], true)
    for (let prompt = 1; prompt <= 10; prompt++) {
      const claimed = await claimWithin(store)
      expect(claimed, `${prompt}`).toMatchObject([{ proven: false }])
      await report(store, claimed, true)
    }
    expect(await claimWithin(store)).toMatchObject([{ proven: true }, { proven: true }])
  })

  test('an attempt that was broken off says nothing of its endpoint', async () => {
    await using store = await openStore()
    await makeAccount(store, 1, 3)
    await report(store, await claimWithin(store), true)
    await giveBack(store, await claimWithin(store), 0)
    expect(await claimWithin(store)).toMatchObject([{ proven: true }, { proven: true }])
  })

  test('silent endpoints of however many accounts leave slots to proven ones, and to new ones in turn', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const good = await makeAccount(store, 1, 1)
    await report(store, await claimWithin(store), true)
    for (let i = 0; i < 40; i++) await makeAccount(store, 3, 2)
    const silent = await claimWithin(store)
    expect(silent).toHaveLength(32)
    for (let i = 0; i < 5; i++) await endJob(store, good)
    const full = { ...wanted, ...caps, unprovenHere: silent.length }
    expect(await store.hasDueDelivery(full)).toBe(true)
    const claimed = await claimWithin(store, { limit: 32, unprovenHere: silent.length })
    expect(claimed.map(({ job }) => job.accountId)).toEqual([good, good])
    expect(await store.hasDueDelivery(full)).toBe(false)
    // Slots that become free go to the accounts that had none yet: eight of the silent ones, and this.
    const fresh = await makeAccount(store, 1, 1)
    const served = new Set(silent.map(({ job }) => job.accountId))
    await giveBack(store, silent.slice(0, 9), 1)
    const next = await claimWithin(store, { limit: 9, unprovenHere: silent.length - 9 })
    expect(next.map(({ job }) => job.accountId)).toContain(fresh)
    expect(next.filter(({ job }) => served.has(job.accountId))).toEqual([])
  })

  test('an account with many endpoints does not hide others', async () => {
    await using store = await openStore()
    const many = await makeAccount(store, 300, 1)
    const few = await makeAccount(store, 1, 1)
    expect((await claimWithin(store, { limit: 2 })).map(({ job }) => job.accountId).toSorted()).toEqual(
      [few, many].toSorted(),
    )
  })

  test('endpoints take turns, each within its slots', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const busy = await makeWebhook(store, accountId)
    for (let i = 0; i < 5; i++) await endJob(store, accountId)
    const late = await makeWebhook(store, accountId)
    await endJob(store, accountId)
    const claims: ClaimedDelivery[] = []
    const whose = async (fields: Partial<DeliveryClaim> = {}) => {
      const claimed = await claim(store, { perWebhook: 2, ...fields })
      claims.push(...claimed)
      return claimed.map(({ webhookId }) => (webhookId === busy ? 'busy' : webhookId === late ? 'late' : 'unknown'))
    }
    expect(await whose({ limit: 1 })).toEqual(['busy'])
    // Its older deliveries wait: it had its turn.
    expect(await whose({ limit: 1 })).toEqual(['late'])
    expect(await whose({ limit: 0 })).toEqual([])
    expect(await whose()).toEqual(['busy'])
    expect(await whose(), 'both its slots are taken').toEqual([])
    await report(store, claims.splice(0), true)
    expect(await whose()).toEqual(['busy', 'busy'])
  })

  test('an account whose endpoints take long leaves room for others, however many they are', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const other = await store.createAccount('b', 0)
    for (let i = 0; i < 6; i++) await makeWebhook(store, accountId)
    for (let i = 0; i < 3; i++) await endJob(store, accountId)
    const theirs = await makeWebhook(store, other.accountId)
    await endJob(store, other.accountId)
    const caps = { limit: 8, perWebhook: 2, perAccount: 4 }
    const first = await claim(store, caps)
    expect(first.filter(({ job }) => job.accountId === accountId)).toHaveLength(4)
    expect(first.filter(({ webhookId }) => webhookId === theirs)).toHaveLength(1)
    await endJob(store, other.accountId)
    expect((await claim(store, { ...caps, limit: 3 })).map(({ webhookId }) => webhookId)).toEqual([theirs])
    expect(await store.hasDueDelivery(wanted)).toBe(true)
    expect(await store.hasDueDelivery({ ...wanted, ...caps })).toBe(false)
  })
}
