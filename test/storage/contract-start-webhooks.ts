// The part of the store contract about webhooks of single starts (P303, P306, P307, P308).
import { expect, test } from 'vitest'
import { claim, list, makeWebhook, taken } from './contract-webhooks.ts'
import { createHeldClock, firstPage, type OpenTestStore, startJob, type TestStore } from './fixture.ts'

const secret = Buffer.alloc(32, 5)
const hook = 'https://example.com/hooks?order=1'

/** Starts a job with a webhook and cancels it, which is its end. */
async function endWith(store: TestStore, accountId: string, webhookUrl: string | null): Promise<string> {
  const { jobId } = await startJob(store, accountId, { credits: 0, webhookUrl })
  await store.requestCancel(accountId, jobId)
  return jobId
}

/** Declares the tests. */
export function startWebhookTests(openStore: OpenTestStore): void {
  test('an account has one endpoint for all starts, which is made once and counts toward no limit', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const other = await store.createAccount('b', 0)
    expect(await store.findStartWebhook(accountId)).toBeNull()
    const opened = await Promise.all([1, 2, 3].map((n) => store.openStartWebhook(accountId, Buffer.alloc(32, n))))
    const [webhook] = opened
    expect(new Set(opened.map(({ webhookId }) => webhookId)).size).toBe(1)
    expect(webhook).toMatchObject({ accountId, url: '', disabledAtMs: null, includeInput: false })
    expect(await store.findStartWebhook(accountId)).toEqual(webhook)
    expect(await store.findStartWebhook(other.accountId)).toBeNull()
    await makeWebhook(store, accountId, 1)
    expect((await store.listWebhooks(accountId, firstPage)).total).toBe(2)
    await expect(store.openStartWebhook('acct_nobody', secret)).rejects.toThrow()
  })

  test('the end of a start goes to its URL and to the endpoints of the account, that of another start to those alone', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const { webhookId } = await store.openStartWebhook(accountId, secret)
    const general = await makeWebhook(store, accountId)
    const jobId = await endWith(store, accountId, hook)
    const plain = await endWith(store, accountId, null)
    const second = await endWith(store, accountId, `${hook}2`)
    const sent = async (id: string) =>
      Object.fromEntries((await list(store, { jobId: id })).items.map((one) => [one.webhookId, one.url]))
    const toAll = { [general]: 'https://example.com/hooks' }
    expect(await sent(jobId)).toEqual({ ...toAll, [webhookId]: hook })
    expect(await sent(plain)).toEqual(toAll)
    expect(await sent(second)).toEqual({ ...toAll, [webhookId]: `${hook}2` })
    const claimed = (await claim(store)).filter((one) => one.webhookId === webhookId)
    expect(new Map(claimed.map(({ url, secrets, job }) => [url, [secrets, job.jobId]]))).toEqual(
      new Map([
        [hook, [[secret], jobId]],
        [`${hook}2`, [[secret], second]],
      ]),
    )
  })

  test('a repeated start keeps the webhook of the first', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    await store.openStartWebhook(accountId, secret)
    const { jobId } = await startJob(store, accountId, { credits: 0, idempotencyKey: 'k', webhookUrl: hook })
    await expect(
      startJob(store, accountId, { credits: 0, idempotencyKey: 'k', webhookUrl: 'https://other.example/' }),
    ).rejects.toThrow('start was replayed')
    await store.requestCancel(accountId, jobId)
    expect((await list(store)).items.map(({ url }) => url)).toEqual([hook])
  })

  test('a URL that is gone gets no more, and the other starts of the account get theirs', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    await store.openStartWebhook(accountId, secret)
    await endWith(store, accountId, hook)
    await endWith(store, accountId, `${hook}2`)
    const [first] = await claim(store, { limit: 1 })
    expect(first).toMatchObject({ url: hook })
    const gone = { responseStatus: 410, error: 'It answered 410.', durationMs: 1 }
    const { deliveryId = '', token = 0 } = first ?? {}
    const next = { status: 'failed' } as const
    await store.reportDelivery({ deliveryId, token, attempt: gone, next, prompt: true, gone: true })
    expect((await list(store)).items.map(({ url, status }) => [url, status])).toEqual([
      [`${hook}2`, 'pending'],
      [hook, 'failed'],
    ])
    expect(await store.findStartWebhook(accountId)).toMatchObject({ disabledAtMs: null })
    expect(await claim(store)).toEqual([expect.objectContaining({ url: `${hook}2` })])
    expect(await store.redeliver(deliveryId)).toMatchObject({ delivery: { status: 'pending', url: hook } })
    expect(await claim(store)).toEqual([expect.objectContaining({ url: hook, deliveryId })])
  })

  test('a deleted job is still delivered, and is not forgotten before', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 0)
    await store.openStartWebhook(accountId, secret)
    const jobId = await endWith(store, accountId, hook)
    await store.deleteJob(accountId, jobId)
    const [delivery] = await claim(store)
    expect(delivery).toMatchObject({ url: hook, job: { jobId } })
    const { deliveryId = '', token = 0 } = delivery ?? {}
    const next = { status: 'delivered' } as const
    await store.reportDelivery({ deliveryId, token, attempt: taken, next, prompt: true, gone: false })
    expect((await list(store, { jobId })).items).toMatchObject([{ status: 'delivered', url: hook }])
  })

  test('without its endpoint nothing is sent, and another one has another secret', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const first = await store.openStartWebhook(accountId, secret)
    await endWith(store, accountId, hook)
    expect(await store.deleteWebhook(accountId, first.webhookId)).toBe(true)
    await endWith(store, accountId, hook)
    expect(await store.findStartWebhook(accountId)).toBeNull()
    expect(await claim(store)).toEqual([])
    const second = await store.openStartWebhook(accountId, Buffer.alloc(32, 6))
    expect(second.webhookId).not.toBe(first.webhookId)
    await endWith(store, accountId, hook)
    expect((await claim(store)).map(({ url, secrets }) => [url, secrets])).toEqual([[hook, [Buffer.alloc(32, 6)]]])
  })
}
