// Watches that come to nothing, because the store cannot be read or the client has gone already: they leave neither a listener nor a timer.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startFeed } from '../../src/feed/feed.ts'
import { startJob } from '../storage/fixture.ts'
import { startTestApp } from '../test-app.ts'
import { openTestStore } from '../test-store.ts'
import { expectWhole } from './fixture.ts'

test('a watch or a wait whose first read fails is refused and forgotten', async () => {
  await using store = await openTestStore()
  const { accountId } = await store.createAccount('test', 1000)
  const { jobId } = await startJob(store, accountId)
  let reads = 0
  const feed = startFeed({
    ...store,
    async getJob(account) {
      if (account !== null) throw new Error('the disk hiccuped')
      reads += 1
      return null
    },
  })
  const { signal } = new AbortController()
  await expect(feed.watch(accountId, jobId, signal)).rejects.toThrow('hiccuped')
  await expect(feed.awaitEnd(accountId, jobId, 60_000, signal)).rejects.toThrow('hiccuped')
  await store.requestCancel(accountId, jobId)
  expect(reads, 'nobody watches, so the change is not read').toBe(0)
  feed.stop()
})

test('clients that hang up before they are answered leave no timer', async () => {
  await using app = await startTestApp()
  const gate = app.gate()
  const { body } = await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  const path = `/v1/jobs/${body.job_id}/events`
  const told = app.send(path)
  await gate.begun()
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const { hostname, port } = new URL(app.url)
  for (let client = 0; client < 100; client++) {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${app.account.key}\r\n\r\n`)
    // Some are gone before the request is read, some while it is answered.
    for (let turn = 0; turn < client % 4; turn++) await new Promise(setImmediate)
    socket.destroy()
    await once(socket, 'close')
  }
  // The job still runs, so whatever is left of them would stay; Node itself needs some seconds to forget a connection.
  // The server's own timers come and go; a hundred clients that left theirs would show as dozens.
  await expect.poll(timers).toBeLessThanOrEqual(before + 5)
  gate.open()
  expect((await told).body).toContain('"status":"succeeded"')
  await expectWhole(app)
})
