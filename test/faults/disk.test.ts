// The disk with the data fills while starts go on: what was acknowledged is there, what was refused never was, and with room again the same server goes on.
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTestApp, type TestAnswer, type TestApp } from '../test-app.ts'
import {
  expectWhole,
  fillDisk,
  makeFolder,
  modelOf,
  mountDisk,
  picture,
  price,
  whyNoMounts,
  writeCatalog,
} from './fixture.ts'

const noMounts = whyNoMounts()
const clients = 4
// Each start takes at least this much room, so the disk is full before long.
const paddingBytes = 20_000
const mostStarts = 4000
const credits = 1_000_000

/** What a client intended and was told. */
interface Intent {
  readonly key: string
  readonly body: object
  readonly answer: TestAnswer
}

interface JobRecord {
  readonly job_id: string
  readonly status: string
  readonly billing: { readonly held: number; readonly charged: number; readonly released: number }
}

function send(app: TestApp, key: string, body: object): Promise<TestAnswer> {
  return app.send('/v1/generate?wait=false', { headers: { 'idempotency-key': key }, body })
}

/** Starts generations from several clients at once until `enough`. */
async function startUntil(app: TestApp, enough: (intents: readonly Intent[]) => boolean): Promise<Intent[]> {
  const intents: Intent[] = []
  async function work(): Promise<void> {
    while (!enough(intents) && intents.length < mostStarts) {
      const model = modelOf('fine')
      const input = { padding: randomBytes(paddingBytes / 2).toString('hex') }
      const key = crypto.randomUUID()
      const body = { model, input, quote_id: (await app.quote(model, input)).quote_id }
      intents.push({ key, body, answer: await send(app, key, body) })
    }
  }
  await Promise.all(Array.from({ length: clients }, work))
  return intents
}

async function upload(app: TestApp): Promise<TestAnswer> {
  const response = await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'image/png' },
    body: readFileSync(picture),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

function expectUnavailable(answer: TestAnswer, what: string): void {
  expect(answer.status, what).toBe(503)
  expect(answer.headers.get('content-type')).toContain('application/problem+json')
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(answer.body).toMatchObject({ code: 'storage_unavailable', detail: expect.stringMatching(/disk/) })
}

async function listAll(app: TestApp): Promise<JobRecord[]> {
  const jobs: JobRecord[] = []
  for (;;) {
    const { body } = await app.send(`/v1/jobs?limit=100&offset=${jobs.length}`)
    jobs.push(...(body.data as JobRecord[]))
    if (body.data.length === 0) return jobs
  }
}

/** Holds that what was acknowledged is there once, and that nothing is there of what was refused. */
async function expectExactly(app: TestApp, intents: readonly Intent[]): Promise<void> {
  for (const { key, answer } of intents) {
    const { body } = await app.send(`/v1/jobs?idempotency_key=${key}`)
    const found = (body.data as JobRecord[]).map(({ job_id }) => job_id)
    expect(found).toEqual(answer.status === 202 ? [answer.body.job_id] : [])
  }
  const jobs = await listAll(app)
  expect(jobs.length).toBe(intents.filter(({ answer }) => answer.status === 202).length)
  expect((await app.admin.verifyLedger({})).problems).toEqual([])
}

test.skipIf(noMounts !== '')(
  `a disk that fills refuses starts as a whole, keeps all that was acknowledged, and goes on when there is room${noMounts}`,
  async () => {
    using folder = makeFolder()
    using data = makeFolder()
    using _disk = mountDisk(data.path, '24m')
    await using app = await startTestApp({
      MEDIAGEN_CATALOG: writeCatalog(folder.path, [{ name: 'fine', script: 'cp "$0" out.png' }]),
      MEDIAGEN_DATA_DIR: data.path,
      MEDIAGEN_MAX_QUEUED_JOBS: '100000',
      MEDIAGEN_LEASE_SECONDS: '3',
    })
    await app.admin.grantCredits({ accountId: app.account.accountId, credits: BigInt(credits) })
    const filler = join(data.path, 'filler')

    const before = await startUntil(app, (intents) => intents.length >= 20)
    expect(before.every(({ answer }) => answer.status === 202)).toBe(true)
    const filled = startUntil(app, (intents) => intents.filter(({ answer }) => answer.status === 503).length >= 20)
    fillDisk(filler)
    const during = await filled

    const refused = during.filter(({ answer }) => answer.status >= 300)
    expect(refused.length).toBeGreaterThanOrEqual(20)
    for (const { answer } of refused) expectUnavailable(answer, 'a start')
    expectUnavailable(await upload(app), 'an upload finds no room either')
    expect((await app.send('/healthz', { key: null })).status, 'who only reads is still answered').toBe(200)
    await expectExactly(app, [...before, ...during])

    rmSync(filler)
    const after = await startUntil(app, (intents) => intents.length >= 10)
    expect(after.every(({ answer }) => answer.status === 202)).toBe(true)
    // The very same requests go through now, once.
    for (const intent of refused.slice(0, 5)) {
      const again = await send(app, intent.key, intent.body)
      expect(again.status).toBe(202)
      after.push({ ...intent, answer: again })
    }
    const all = [...before, ...during, ...after].filter(({ answer }) => answer.status === 202)
    for (const { answer } of all) await app.send(`/v1/jobs/${answer.body.job_id}/events`)
    const ended = await listAll(app)
    expect(new Set(ended.map(({ job_id }) => job_id))).toEqual(new Set(all.map(({ answer }) => answer.body.job_id)))
    expect(ended.length).toBe(all.length)
    for (const { status, billing } of ended) {
      expect(['succeeded', 'failed']).toContain(status)
      expect(billing).toMatchObject({ held: price, charged: status === 'succeeded' ? price : 0 })
    }
    const succeeded = ended.filter(({ status }) => status === 'succeeded')
    const withRoom = new Set(after.map(({ answer }) => answer.body.job_id))
    for (const { job_id, status } of ended) if (withRoom.has(job_id)) expect(status).toBe('succeeded')
    const { available } = (await app.send('/v1/wallet')).body
    expect(available).toBe(1000 + credits - succeeded.length * price)
    await expectWhole(app)
  },
)
