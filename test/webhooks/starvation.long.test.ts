// Endpoints that do not answer take nothing from those that do, however many accounts they belong to. docs/webhooks.md.
import { expect, test } from 'vitest'
import { openReceiver } from '../outgoing/receiver.ts'
import { startWebhookApp } from './webhook-app.ts'

test('silent endpoints of 18 accounts delay no delivery to a nineteenth', async () => {
  await using hooks = await startWebhookApp()
  await using deaf = await openReceiver()
  deaf.answer = () => {}
  for (let i = 0; i < 18; i++) {
    const account = await hooks.app.createAccount(100)
    for (let j = 0; j < 3; j++) await hooks.register(deaf.url, account)
    await hooks.runJob(undefined, account)
    await hooks.runJob(undefined, account)
  }
  await using quick = await openReceiver()
  const nineteenth = await hooks.app.createAccount(100)
  await hooks.register(quick.url, nineteenth)
  const ended: string[] = []
  for (let i = 0; i < 15; i++) ended.push((await hooks.runJob(undefined, nineteenth)).job_id)
  const told: string[] = []
  // None of the others times out before this test does.
  for (let i = 0; i < 15; i++) told.push((await quick.next()).event.data.job_id)
  expect(told.toSorted()).toEqual(ended.toSorted())
  // Each of the others has been tried, and none of them twice at a time.
  expect(deaf.received).toHaveLength(2 * 18)
})

test('endpoints that answer once and fall silent then take no more than the places of their account', async () => {
  await using hooks = await startWebhookApp()
  await using fickle = await openReceiver()
  for (let i = 0; i < 3; i++) await hooks.register(fickle.url)
  await hooks.runJob()
  for (let i = 0; i < 3; i++) await fickle.next()
  await expect
    .poll(async () => (await hooks.app.admin.findDeliveries({})).deliveries.map(({ finishedAt }) => finishedAt))
    .not.toContain(undefined)
  fickle.answer = () => {}
  for (let i = 0; i < 4; i++) await hooks.runJob()
  for (let i = 0; i < 4; i++) await fickle.next()
  await using quick = await openReceiver()
  const other = await hooks.app.createAccount(10)
  await hooks.register(quick.url, other)
  await hooks.runJob(undefined, other)
  await quick.next()
  expect(fickle.received).toHaveLength(3 + 4)
})
