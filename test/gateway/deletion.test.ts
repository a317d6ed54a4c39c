// DELETE /v1/jobs/{job_id}: the files and the input of an ended job go, its record and its money stay.
// P27, P40, P41, P42, P90, P163.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestAccount, type TestApp } from '../test-app.ts'

// Looks at its picture only when the gate is there, so that a test can delete the picture before that.
const catalog = `models:
  - id: test/echo/image-to-image
    name: Echo
    description: Returns its picture when its gate opens.
    category: image-to-image
    modality: image
    owned_by: tests
    created: 2026-11-01
    price: { credits: 1 }
    engine: { kind: command, run: [node, echo.mjs], timeout_seconds: 60, concurrency: 2 }
    input:
      type: object
      additionalProperties: false
      required: [image, gate]
      properties:
        image: { type: string, format: media, title: Image, description: A picture. }
        gate: { type: string }
`
const program = `import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

const { input, media } = JSON.parse(readFileSync(0, 'utf8'))
writeFileSync(input.gate + '.begun', '')
while (!existsSync(input.gate)) await setTimeout(10)
copyFileSync(media['/image'], 'out.png')
`
const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'), 'base64')
const folder = mkdtempSync(join(tmpdir(), 'mediagen-deletion-'))
writeFileSync(join(folder, 'echo.mjs'), program)
writeFileSync(join(folder, 'echo.yaml'), catalog)

const app = await startTestApp()
const echo = await startTestApp({ MEDIAGEN_CATALOG: join(folder, 'echo.yaml'), MEDIAGEN_PLACES: '1' })
const idle = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(async () => {
  await Promise.all([app, echo, idle].map((each) => each[Symbol.asyncDispose]()))
  rmSync(folder, { recursive: true, force: true })
})

const model = 'test/instant/text-to-image'
const remove = (server: TestApp, jobId: string, key: string) =>
  server.send(`/v1/jobs/${jobId}`, { method: 'DELETE', key })
const read = async (server: TestApp, path: string, { key }: TestAccount) => (await server.send(path, { key })).body

describe('an ended job', () => {
  test('loses its outputs and its input, leaves the lists, and keeps its record and its money', async () => {
    const account = await app.createAccount(100)
    const idempotencyKey = 'one'
    const { body: kept } = await app.generate(model, { prompt: 'kept' }, { account })
    const { body: job } = await app.generate(model, { prompt: 'gone' }, { account, idempotencyKey })
    const [{ url, preview_url: preview }] = job.outputs
    const money = [await read(app, '/v1/wallet', account), await read(app, '/v1/wallet/entries', account)]

    for (const _ of [1, 2]) expect(await remove(app, job.job_id, account.key)).toMatchObject({ status: 204, body: '' })
    const { reproduction, ...rest } = await read(app, `/v1/jobs/${job.job_id}`, account)
    expect(reproduction.input).toBeNull()
    const record = { ...rest, reproduction: null }
    expect(record).toEqual({ ...job, outputs: [], input: null, deleted_at: expect.stringMatching(/Z$/) })
    expect(kept.deleted_at).toBeNull()
    const list = await read(app, '/v1/jobs', account)
    expect([list.total, list.data.map((each: any) => each.job_id)]).toEqual([1, [kept.job_id]])
    expect([await read(app, '/v1/wallet', account), await read(app, '/v1/wallet/entries', account)]).toEqual(money)
    for (const file of [url, preview]) await expect.poll(async () => (await fetch(file)).status).toBe(404)
    // The key still names the job, so that the same request does not pay again.
    const again = await app.send('/v1/generate', {
      key: account.key,
      headers: { 'idempotency-key': idempotencyKey },
      body: { model, input: { prompt: 'gone' }, quote_id: job.quote_id },
    })
    expect([again.status, again.body]).toEqual([200, record])
  })

  test('P211: is not served, nor taken as an input, while its files are there', async () => {
    const account = await app.createAccount(100)
    const { body: job } = await app.generate(model, { prompt: 'gone' }, { account })
    const [{ url, preview_url: preview }] = job.outputs
    const pathOf = (file: string) => join(app.config.dataDir, new URL(file).pathname)
    const files = [url, preview].map((file) => ({ file, path: pathOf(file), content: readFileSync(pathOf(file)) }))
    await remove(app, job.job_id, account.key)
    for (const { path } of files) await expect.poll(() => existsSync(path)).toBe(false)
    // As if the store had refused to delete them.
    for (const { path, content } of files) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
    }
    for (const { file } of files)
      for (const method of ['GET', 'HEAD']) expect((await fetch(file, { method })).status).toBe(404)
    const gate = join(folder, 'own-gate')
    writeFileSync(gate, '')
    const { body: echoed } = await echo.generate('test/echo/image-to-image', {
      image: `data:image/png;base64,${picture}`,
      gate,
    })
    const [{ url: own }] = echoed.outputs
    const path = join(echo.config.dataDir, new URL(own).pathname)
    const content = readFileSync(path)
    await remove(echo, echoed.job_id, echo.account.key)
    await expect.poll(() => existsSync(path)).toBe(false)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    const { body: failed } = await echo.generate('test/echo/image-to-image', { image: own, gate })
    expect(failed.error).toMatchObject({ code: 'invalid_media' })
  })

  test('that failed can be deleted as well', async () => {
    const { body: job } = await app.generate('test/failing/text-to-image', { prompt: 'x' })
    expect((await remove(app, job.job_id, app.account.key)).status).toBe(204)
  })
})

describe('is refused', () => {
  test('for a job that is queued or running, which one cancels first', async () => {
    const account = await idle.createAccount(10)
    const { body: queued } = await idle.generate(model, { prompt: 'x' }, { account, wait: false })
    const refused = await remove(idle, queued.job_id, account.key)
    expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
      409,
      'job_not_ended',
      `The job "${queued.job_id}" is queued. Cancel it first, then delete it once it has ended.`,
    ])
    const gate = app.gate()
    const { body: running } = await app.generate('test/gate/text-to-image', gate.input, { wait: false })
    await gate.begun()
    expect((await remove(app, running.job_id, app.account.key)).body.code).toBe('job_not_ended')
    gate.open()
    await idle.send(`/v1/jobs/${queued.job_id}/cancel`, { method: 'POST', key: account.key })
    expect((await remove(idle, queued.job_id, account.key)).status).toBe(204)
  })

  test('for the job of another account, and without the permission to generate', async () => {
    const { body: job } = await app.generate(model, { prompt: 'x' })
    const other = await app.createAccount(0)
    expect((await remove(app, job.job_id, other.key)).body.code).toBe('job_not_found')
    const reader = await app.createKey(app.account.accountId, ['jobs:read'])
    expect((await remove(app, job.job_id, reader)).body.permission).toBe('generate')
    expect((await app.send(`/v1/jobs/${job.job_id}`)).body.deleted_at).toBeNull()
  })
})

test('a job that runs with a deleted picture finishes; one that was still queued fails by name and costs nothing', async () => {
  const account = await echo.createAccount(100)
  const start = (input: object, wait = false) => echo.generate('test/echo/image-to-image', input, { account, wait })
  const open = echo.gate()
  open.open()
  const { body: source } = await start({ image: `data:image/png;base64,${picture}`, ...open.input }, true)
  const image = source.outputs[0].url
  const gate = echo.gate()
  const { body: running } = await start({ image, ...gate.input })
  await gate.begun()
  const { body: queued } = await start({ image, ...echo.gate().input })
  expect((await remove(echo, source.job_id, account.key)).status).toBe(204)
  await expect.poll(async () => (await fetch(image)).status).toBe(404)
  gate.open()
  const end = (jobId: string) => expect.poll(() => read(echo, `/v1/jobs/${jobId}`, account), { timeout: 20_000 })
  await end(running.job_id).toMatchObject({ status: 'succeeded', outputs: [{ sha256: source.outputs[0].sha256 }] })
  await end(queued.job_id).toMatchObject({
    status: 'failed',
    billing: { charged: 0, released: 1 },
    error: { code: 'invalid_media', message: expect.stringMatching(/^image is the URL of a file that was deleted/) },
  })
})
