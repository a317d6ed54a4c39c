// Retention: files are kept for a time and then removed; records stay and say so. The clock is held.
// P18, P38, P39, P44, P103, P104.
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { createTestClock } from './test-clock.ts'

const hourMs = 3_600_000
const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }
const picture = new Uint8Array(readFileSync(join(import.meta.dirname, '../models/picture.png')))

const clock = createTestClock()
const app = await startTestApp({ MEDIAGEN_RETAIN_HOURS: '48' }, { clock })
afterAll(() => app[Symbol.asyncDispose]())
const root = join(app.config.dataDir, 'assets')

async function start(headers: Record<string, string> = {}, key = crypto.randomUUID()) {
  const { quote_id } = await app.quote(model, input)
  return app.send('/v1/generate?wait=true', {
    headers: { 'idempotency-key': key, ...headers },
    body: { model, input, quote_id },
  })
}

const read = async (jobId: string) => (await app.send(`/v1/jobs/${jobId}`)).body

async function upload() {
  const response = await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'image/png' },
    body: picture,
  })
  return (await response.json()) as { file_id: string; url: string; expires_at: string }
}

describe('outputs', () => {
  test('are kept as long as the server says, then removed; the record stays and says so', async () => {
    const { body: job } = await start()
    const [output] = job.outputs
    const end = Date.parse(job.finished_at) + 48 * hourMs
    expect(output).toMatchObject({ expired: false, kept_until: new Date(end).toISOString() })

    clock.ms = end
    const last = (await read(job.job_id)).outputs[0]
    expect(last.expired).toBe(false)
    expect(Date.parse(last.expires_at)).toBeLessThanOrEqual(end)
    expect((await fetch(last.url)).status).toBe(200)

    clock.ms = end + 1000
    // At once, whether or not they have been removed by now.
    const { url, preview_url, expires_at, expired, ...facts } = (await read(job.job_id)).outputs[0]
    expect({ url, preview_url, expires_at, expired }).toEqual({
      url: null,
      preview_url: null,
      expires_at: null,
      expired: true,
    })
    expect(facts).toMatchObject({ sha256: output.sha256, bytes: output.bytes, content_type: 'image/png' })
    const answer = await fetch(last.url)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ code: 'asset_not_found' })
    await expect.poll(() => existsSync(join(root, job.job_id))).toBe(false)
    expect(await read(job.job_id)).toMatchObject({ status: 'succeeded', outputs: [{ url: null, expired: true }] })
    // Not even a clock that goes back brings back what is no more.
    clock.ms = end - 1000
    expect((await read(job.job_id)).outputs[0]).toMatchObject({ url: null, expired: true })
  })

  test.each([
    ['90', 90],
    ['2h', 7200],
    ['1d', 86_400],
  ])('are kept for a shorter time when the start says so: Retain-For: %s', async (written, seconds) => {
    const { body: job } = await start({ 'retain-for': written })
    const end = Date.parse(job.finished_at) + seconds * 1000
    const [output] = job.outputs
    expect(output.kept_until).toBe(new Date(end).toISOString())
    expect(Date.parse(output.expires_at)).toBeLessThanOrEqual(end)
    clock.ms = end + 1000
    await expect.poll(() => existsSync(join(root, job.job_id))).toBe(false)
  })

  test.each(['0', '-1', 'soon', '1.5', '3d', '172801', '1h 5m', '9999999999'])(
    'are not kept for “%s”, and the header is named',
    async (written) => {
      const { status, body } = await start({ 'retain-for': written })
      expect([status, body.code]).toEqual([400, 'invalid_request'])
      expect(body.detail).toMatch(/^The header Retain-For must be /)
      expect(body.errors).toMatchObject([{ pointer: 'Retain-For' }])
    },
  )

  test('Retain-For is part of the request that an Idempotency-Key identifies', async () => {
    const { quote_id } = await app.quote(model, input)
    const send = (headers: Record<string, string>) =>
      app.send('/v1/generate?wait=true', {
        headers: { 'idempotency-key': 'kept', ...headers },
        body: { model, input, quote_id },
      })
    const { body: job } = await send({ 'retain-for': '1h' })
    const again = await send({ 'retain-for': '3600' })
    expect([again.body.job_id, again.headers.get('idempotent-replayed')]).toEqual([job.job_id, 'true'])
    for (const headers of [{}, { 'retain-for': '2h' }])
      expect((await send(headers as Record<string, string>)).body.code).toBe('idempotency_key_reused')
  })

  test('are repeated after the server’s retention was shortened; only new starts are refused', async () => {
    const data = { MEDIAGEN_DATA_DIR: join(app.folder, 'shorter') }
    const keptFor = (key: string, quote_id: string) => ({
      headers: { 'idempotency-key': key, 'retain-for': '2d' },
      body: { model, input, quote_id },
    })
    const earlier = await startTestApp({ ...data, MEDIAGEN_RETAIN_HOURS: '48' }, { clock })
    const { key } = earlier.account
    const { quote_id } = await earlier.quote(model, input)
    const { body: job } = await earlier.send('/v1/generate?wait=true', keptFor('one', quote_id))
    await earlier[Symbol.asyncDispose]()
    await using later = await startTestApp({ ...data, MEDIAGEN_RETAIN_HOURS: '1' }, { clock })
    const again = await later.send('/v1/generate?wait=true', { key, ...keptFor('one', quote_id) })
    expect([again.status, again.body.job_id, again.headers.get('idempotent-replayed')]).toEqual([
      200,
      job.job_id,
      'true',
    ])
    const refused = await later.send('/v1/generate', { key, ...keptFor('two', quote_id) })
    expect(refused.body.detail).toBe(
      'The header Retain-For must be 1 to 3600 seconds, which is how long this server keeps outputs.',
    )
  })

  test('that are being read when they are removed are read to their end', async () => {
    const { body: job } = await start({ 'retain-for': '60' })
    const reads = Array.from({ length: 20 }, async () => {
      const response = await fetch(job.outputs[0].url)
      return response.status === 200 ? (await response.arrayBuffer()).byteLength : response.status
    })
    clock.ms += 61_000
    for (const outcome of await Promise.all(reads)) expect([404, job.outputs[0].bytes]).toContain(outcome)
  })
})

describe('uploads', () => {
  test('are kept as long as the server says, then they are as if they had never been', async () => {
    const { file_id, url, expires_at } = await upload()
    clock.ms = Date.parse(expires_at) - 1
    expect((await app.send(`/v1/files/${file_id}`)).status).toBe(200)
    expect((await fetch(url)).status).toBe(200)
    clock.ms = Date.parse(expires_at) + 1
    expect((await app.send(`/v1/files/${file_id}`)).body.code).toBe('file_not_found')
    expect((await app.send('/v1/files')).body.total).toBe(0)
    expect((await fetch(url)).status).toBe(404)
    await expect.poll(() => existsSync(join(root, file_id))).toBe(false)
  })
})

test('what a crash left without a record is removed by the next server, whatever its role, but nothing that is being written', async () => {
  const settings = { MEDIAGEN_DATA_DIR: join(app.folder, 'crashed'), MEDIAGEN_ROLES: 'api' }
  const assets = join(app.folder, 'crashed/assets')
  const id = '01m7yz8n25e00b5kcj94e2afcx'
  // By the file system's own clock. Younger ones may belong to a database that is put back tomorrow.
  const [old, younger] = [new Date(Date.now() - 169 * hourMs), new Date(Date.now() - 167 * hourMs)]
  for (const [name, file] of [
    [`file_${id}`, '0.png'],
    [`file_${id.replace('01', '02')}`, '.part'],
    [`job_${id}`, '0.png'],
    [`job_${id}-2`, '0.png'],
    [`file_${id.replace('01', '03')}`, '.part'],
    [`job_${id.replace('01', '04')}`, '0.png'],
  ] as const) {
    mkdirSync(join(assets, name), { recursive: true })
    writeFileSync(join(assets, name, file), picture)
    if (name.startsWith('file_03')) continue
    const touched = name.startsWith('job_04') ? younger : old
    utimesSync(join(assets, name, file), touched, touched)
    utimesSync(join(assets, name), touched, touched)
  }
  // What is not ours is left alone, however old.
  mkdirSync(join(assets, 'lost+found'))
  utimesSync(join(assets, 'lost+found'), old, old)
  await using crashed = await startTestApp(settings)
  await expect
    .poll(() => readdirSync(assets).toSorted())
    .toEqual([`file_${id.replace('01', '03')}`, `job_${id.replace('01', '04')}`, 'lost+found'])
  await crashed.send('/v1/wallet')
})
