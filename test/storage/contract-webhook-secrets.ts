// The part of the store contract about secrets of webhook endpoints (P217), and about whose deliveries are sent again (P332).
import { expect, test } from 'vitest'
import { systemActor } from '../../src/core/accounts/audit.ts'
import { secretOverlapMs } from '../../src/core/accounts/webhook-secrets.ts'
import type { DeliveryOwner } from '../../src/core/accounts/webhook.ts'
import { claim, endJob, list, makeWebhook, taken } from './contract-webhooks.ts'
import { createHeldClock, type OpenTestStore } from './fixture.ts'

/** Declares the tests. */
export function webhookSecretTests(openStore: OpenTestStore): void {
  test('a replaced secret signs for a day more, also when several follow each other, and goes with its endpoint', async () => {
    const clock = createHeldClock()
    await using store = await openStore(clock)
    const { accountId } = await store.createAccount('a', 100)
    const other = await store.createAccount('b', 0)
    const webhookId = await makeWebhook(store, accountId)
    const [second, third] = [Buffer.alloc(32, 2), Buffer.alloc(32, 3)]
    expect(await store.rotateWebhookSecret(other.accountId, webhookId, second)).toBeNull()
    expect(await store.rotateWebhookSecret(accountId, 'wh_none', second)).toBeNull()
    const secretsNow = async () => {
      await endJob(store, accountId)
      const [delivery] = await claim(store)
      if (delivery)
        await store.reportDelivery({
          deliveryId: delivery.deliveryId,
          token: delivery.token,
          attempt: taken,
          next: { status: 'delivered' },
          prompt: true,
          gone: false,
        })
      return delivery?.secrets.map((each) => each[0])
    }
    expect(await store.getSigningEndpoint(other.accountId, webhookId)).toBeNull()
    const signing = async () => (await store.getSigningEndpoint(accountId, webhookId))?.secrets.map((each) => each[0])
    expect(await signing()).toEqual([7])
    expect(await store.rotateWebhookSecret(accountId, webhookId, second)).toEqual({
      webhook: await store.getWebhook(accountId, webhookId),
      previousUntilMs: clock.ms + secretOverlapMs,
    })
    clock.ms += 1000
    await store.rotateWebhookSecret(accountId, webhookId, third)
    expect([await signing(), await secretsNow()]).toEqual([
      [3, 2, 7],
      [3, 2, 7],
    ])
    clock.ms += secretOverlapMs - 1000
    expect([await signing(), await secretsNow()]).toEqual([
      [3, 2],
      [3, 2],
    ])
    clock.ms += 1000
    expect(await secretsNow()).toEqual([3])
    expect(await store.deleteWebhook(accountId, webhookId)).toBe(true)
    expect(await store.getSigningEndpoint(accountId, webhookId)).toBeNull()
    expect(await store.rotateWebhookSecret(accountId, webhookId, second)).toBeNull()
  })

  test('only the owner of an endpoint has a delivery to it sent again', async () => {
    await using store = await openStore()
    const { accountId } = await store.createAccount('a', 0)
    const [webhookId, beside] = [await makeWebhook(store, accountId, 2), await makeWebhook(store, accountId, 2)]
    await endJob(store, accountId)
    const { deliveryId } = (await list(store, { webhookId })).items[0] ?? { deliveryId: '' }
    const redeliver = (owner: DeliveryOwner) => store.redeliver(deliveryId, systemActor, owner)
    expect(await redeliver({ accountId, webhookId: beside })).toEqual({ outcome: 'no_delivery' })
    expect(await redeliver({ accountId: 'acct_other', webhookId })).toEqual({ outcome: 'no_delivery' })
    expect(await redeliver({ accountId, webhookId })).toMatchObject({ outcome: 'done', delivery: { deliveryId } })
  })
}
