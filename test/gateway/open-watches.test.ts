// Watches and waits are bounded, by account and in all; nobody is refused a start for it (P112, P167, P200).
import { afterAll, expect, test } from 'vitest'
import { openForeignClient } from '../rpc/foreign-client.ts'
import { readMetrics } from '../rpc/metrics.ts'
import { startTestApp, type TestAccount } from '../test-app.ts'
import { expectProblem } from './problem.ts'

const app = await startTestApp({
  MEDIAGEN_MAX_WATCHES_PER_ACCOUNT: '2',
  MEDIAGEN_MAX_WATCHES: '3',
  MEDIAGEN_MAX_WAITS_PER_ACCOUNT: '1',
  MEDIAGEN_MAX_WAITS: '2',
})
afterAll(() => app[Symbol.asyncDispose]())

const gateModel = 'test/gate/text-to-image'

async function startGated(account: TestAccount) {
  const gate = app.gate()
  const { body } = await app.generate(gateModel, gate.input, { wait: false, account })
  return { gate, jobId: body.job_id as string }
}

/** Opens a watch and keeps it; `close` resolves when it is closed. */
async function watch(account: TestAccount, jobId: string) {
  const hangUp = new AbortController()
  const response = await fetch(`${app.url}/v1/jobs/${jobId}/events`, {
    headers: { authorization: `Bearer ${account.key}` },
    signal: hangUp.signal,
  })
  return { response, close: () => hangUp.abort() }
}

async function readProblem(response: Response) {
  return { status: response.status, headers: response.headers, body: await response.json() }
}

async function countOpen(what: 'watches' | 'waits'): Promise<number> {
  const [, count] = new RegExp(`^mediagen_${what}_open (\\d+)$`, 'm').exec(await readMetrics(app)) ?? []
  return Number(count)
}

test('MEDIAGEN_MAX_WATCHES_PER_ACCOUNT and MEDIAGEN_MAX_WATCHES: one more is refused and told why', async () => {
  const [one, other] = [await app.createAccount(100), await app.createAccount(100)]
  const mine = await startGated(one)
  const theirs = await startGated(other)
  const open = [await watch(one, mine.jobId), await watch(one, mine.jobId)]
  expect(open.map(({ response }) => response.status)).toEqual([200, 200])

  const third = await readProblem((await watch(one, mine.jobId)).response)
  expectProblem(third, app.url, 'rate_limited')
  expect(third.body.detail).toContain('MEDIAGEN_MAX_WATCHES_PER_ACCOUNT')
  expect(third.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)

  open.push(await watch(other, theirs.jobId))
  expect(open[2]?.response.status, 'another account has its own').toBe(200)
  const fourth = await readProblem((await watch(other, theirs.jobId)).response)
  expectProblem(fourth, app.url, 'overloaded')
  expect(fourth.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  using client = await openForeignClient(app.app.grpcUrl, one.key)
  const refused = await client.refusal('GenerationService/WatchJob', { job_id: mine.jobId })
  expect(refused).toMatchObject({ status: 'RESOURCE_EXHAUSTED', detail: { code: 'rate_limited' } })

  expect(await countOpen('watches')).toBe(3)
  open[0]?.close()
  await expect.poll(() => countOpen('watches')).toBe(2)
  const again = await watch(one, mine.jobId)
  expect(again.response.status, 'a slot that was given back is free').toBe(200)
  // Ends of jobs end their watches.
  mine.gate.open()
  theirs.gate.open()
  await Promise.all([...open.slice(1), again].map(({ response }) => response.text()))
  await expect.poll(() => countOpen('watches')).toBe(0)
})

test('MEDIAGEN_MAX_WAITS_PER_ACCOUNT and MEDIAGEN_MAX_WAITS: one more is started and answered at once', async () => {
  const accounts = await Promise.all([1, 2, 3].map(() => app.createAccount(100)))
  const gates = [app.gate(), app.gate(), app.gate(), app.gate()]
  const start = (account: number, gate: number) =>
    app.generate(gateModel, gates[gate]?.input ?? {}, { account: accounts[account] as TestAccount })
  const waiting = [start(0, 0)]
  await expect.poll(() => countOpen('waits')).toBe(1)

  const second = await start(0, 1)
  expect(second.status).toBe(202)
  expect(second.headers.get('location')).toBe(`/v1/jobs/${second.body.job_id}`)
  expect(second.body.status).toMatch(/queued|running/)

  waiting.push(start(1, 2))
  await expect.poll(() => countOpen('waits')).toBe(2)
  expect((await start(2, 3)).status, 'as many as may wait in all').toBe(202)

  for (const gate of gates) gate.open()
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200])
  expect(await countOpen('waits')).toBe(0)
})

test('HEAD watches nothing', async () => {
  const account = await app.createAccount(100)
  const { gate, jobId } = await startGated(account)
  const events = (path: string) =>
    fetch(`${app.url}/v1/jobs/${path}/events`, { method: 'HEAD', headers: { authorization: `Bearer ${account.key}` } })
  for (const { status, headers } of await Promise.all(Array.from({ length: 5 }, () => events(jobId))))
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  expect((await events('job_none')).status).toBe(404)
  const watched = await watch(account, jobId)
  expect(watched.response.status).toBe(200)
  gate.open()
  await watched.response.text()
})
