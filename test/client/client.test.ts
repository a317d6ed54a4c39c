// The client against a real server: what it returns, what it throws, and that nothing is paid twice (P99).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, JobFailed, Refused, TooExpensive, Unreachable } from '@mediagen/client/client.ts'
import { createIdempotencyKey } from '@mediagen/client/generate.ts'
import { afterAll, describe, expect, test } from 'vitest'
import { makeTypes } from '../../docs/make-types.ts'
import { openReceiver } from '../outgoing/receiver.ts'
import { startTestApp, type TestAccount } from '../test-app.ts'
import { openCuttingProxy, openForgetfulProxy, openProxy } from './spoiled-proxy.ts'

const app = await startTestApp({ MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true' })
afterAll(() => app[Symbol.asyncDispose]())
const model = 'test/instant/text-to-image'
const input = { prompt: 'x' }
const open = (account: TestAccount = app.account, url = app.url) => createClient({ url, key: account.key })

async function countJobs(account: TestAccount): Promise<number> {
  return (await open(account).jobs()).total
}

test('the types are those of the OpenAPI document', async () => {
  const withoutStyle = (text: string): string => text.replaceAll(/[\s;()'"|]/g, '')
  const written = readFileSync(join(import.meta.dirname, '../../packages/client/src/openapi.ts'), 'utf8')
  expect(withoutStyle(written)).toBe(withoutStyle(await makeTypes()))
})

test('idempotency keys are UUIDv7: they begin with the time, and none comes twice', () => {
  const before = Date.now()
  const keys = Array.from({ length: 10_000 }, createIdempotencyKey)
  const after = Date.now()
  expect(new Set(keys).size).toBe(keys.length)
  for (const key of keys) {
    const [, time = ''] = /^([\da-f]{8}-[\da-f]{4})-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.exec(key) ?? []
    const madeMs = Number.parseInt(time.replace('-', ''), 16)
    expect(madeMs >= before && madeMs <= after).toBe(true)
  }
})

describe('labels', () => {
  const labels = { team: 'ads', note: 'Zürich, "9" \\ 🎨' }

  test('stay with the job, by a quote and by a run', async () => {
    expect(await open().generate(model, input, { labels })).toMatchObject({ labels })
    expect(await open().run(model, input, { maxCredits: 5, labels })).toMatchObject({ labels })
    expect(await open().start(model, input, { labels: {} })).toMatchObject({ labels: {} })
  })

  test('that no header can carry, or that the server refuses, are named', async () => {
    for (const wrong of [{ 'bad\n': 'x' }, { bad: 'x\r\nEvil: y' }, { 'bad/': 'x' }, { bad: '' }])
      for (const call of [
        () => open().start(model, input, { labels: wrong }),
        () => open().run(model, input, { maxCredits: 5, labels: wrong }),
      ])
        await expect(call()).rejects.toMatchObject({
          code: 'invalid_request',
          message: expect.stringContaining('bad'),
        })
  })
})

test('the end of a job is sent to its webhookUrl, by a quote and by a run (P303)', async () => {
  await using receiver = await openReceiver()
  const made = await open().generate(model, input, { webhookUrl: `${receiver.url}/ü?by=quote` })
  expect(await receiver.next()).toMatchObject({
    path: '/hooks/%C3%BC?by=quote',
    event: { data: { job_id: made.job_id } },
  })
  const run = await open().run(model, input, { maxCredits: 5, webhookUrl: `${receiver.url}?by=run` })
  expect(await receiver.next()).toMatchObject({ path: '/hooks?by=run', event: { data: { job_id: run.job_id } } })
  for (const webhookUrl of ['ftp://example.com/', 'https://example.com/\n'])
    await expect(open().start(model, input, { webhookUrl })).rejects.toMatchObject({ code: 'invalid_request' })
})

describe('generate', () => {
  test('quotes, starts, waits and downloads', async () => {
    const seen: string[] = []
    const client = open()
    const job = await client.generate(model, input, {
      onQuote: ({ credits }) => void seen.push(`${credits} credits`),
      onJob: ({ status }) => void seen.push(status),
    })
    expect(job).toMatchObject({ status: 'succeeded', billing: { charged: 3 } })
    expect([seen[0], seen[1], seen.at(-1)]).toEqual(['3 credits', 'queued', 'succeeded'])
    const file = await client.download(job.outputs[0])
    expect([file.type, file.size]).toEqual(['image/png', job.outputs[0]?.bytes])
  })

  test('a quote above the limit starts nothing', async () => {
    const account = await app.createAccount(100)
    const refused = open(account).generate(model, input, { maxCredits: 2 })
    await expect(refused).rejects.toThrow(TooExpensive)
    await expect(refused).rejects.toMatchObject({ code: 'too_expensive', quote: { credits: 3 } })
    expect(await countJobs(account)).toBe(0)
    expect((await open(account).generate(model, input, { maxCredits: 3 })).status).toBe('succeeded')
  })

  test('what onQuote throws starts nothing', async () => {
    const account = await app.createAccount(100)
    const no = new Error('no')
    await expect(open(account).generate(model, input, { onQuote: () => Promise.reject(no) })).rejects.toBe(no)
    expect(await countJobs(account)).toBe(0)
  })

  test('the same key again resumes and pays nothing', async () => {
    const account = await app.createAccount(100)
    const client = open(account)
    const first = await client.generate(model, input, { idempotencyKey: 'mine' })
    const again = await client.generate(model, input, { idempotencyKey: 'mine', maxCredits: 0 })
    expect(again.job_id).toBe(first.job_id)
    expect(await client.wallet()).toMatchObject({ available: 97 })
    await expect(client.generate(model, { prompt: 'y' }, { idempotencyKey: 'mine' })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    })
  })

  test('a failed job is an error with the job in it', async () => {
    const failed = open().generate('test/failing/text-to-image', input)
    await expect(failed).rejects.toThrow(JobFailed)
    await expect(failed).rejects.toMatchObject({
      code: 'program_failed',
      job: { status: 'failed', billing: { charged: 0 } },
    })
  })

  test('an aborted wait leaves the job to go on', async () => {
    const gate = app.gate()
    const abort = new AbortController()
    const client = open()
    const ids: string[] = []
    const onJob = ({ job_id }: { job_id: string }): void => {
      ids.push(job_id)
      abort.abort(new Error('enough'))
    }
    await expect(
      client.generate('test/gate/text-to-image', gate.input, { signal: abort.signal, onJob }),
    ).rejects.toThrow('enough')
    gate.open()
    expect((await client.follow(ids[0] ?? '')).status).toBe('succeeded')
  })
})

describe('run', () => {
  test('starts in one request, waits, and is told each change', async () => {
    const account = await app.createAccount(100)
    const asked: string[] = []
    const states: string[] = []
    await using proxy = await openProxy(app.url, (path) => {
      if (path.startsWith('POST')) asked.push(path)
      return false
    })
    const onJob = ({ status }: { status: string }): void => void states.push(status)
    const job = await open(account, proxy.url).run(model, input, { maxCredits: 3, onJob })
    expect(job).toMatchObject({ status: 'succeeded', billing: { charged: 3 } })
    expect([asked, states[0], states.at(-1)]).toEqual([['POST /v1/run'], 'queued', 'succeeded'])
  })

  test('a price above the maximum is a refusal with the price, and starts nothing', async () => {
    const account = await app.createAccount(100)
    await expect(open(account).run(model, input, { maxCredits: 2 })).rejects.toMatchObject({
      code: 'price_above_maximum',
      problem: { required: 3 },
      idempotencyKey: null,
    })
    expect(await countJobs(account)).toBe(0)
  })

  test('the same key again is the same job, paid once; without wait it comes as it is', async () => {
    const account = await app.createAccount(100)
    const client = open(account)
    const options = { maxCredits: 5, idempotencyKey: 'mine' }
    const first = await client.run(model, input, { ...options, wait: false })
    expect((await client.run(model, input, options)).job_id).toBe(first.job_id)
    expect(await client.wallet()).toEqual({ available: 97, held: 0 })
    await expect(client.run('test/failing/text-to-image', input, { maxCredits: 9 })).rejects.toThrow(JobFailed)
  })

  test('a run whose answer is lost is repeated with its key, or names it: one job, paid once', async () => {
    const account = await app.createAccount(100)
    await using proxy = await openForgetfulProxy(app.url, 3)
    const lost = open(account, proxy.url).run(model, input, { maxCredits: 3, pausesMs: [0] })
    const { idempotencyKey } = (await lost.catch((error: Unreachable) => error)) as Unreachable
    const options = { maxCredits: 3, idempotencyKey: idempotencyKey ?? undefined }
    const job = await open(account, proxy.url).run(model, input, options)
    expect([job.status, proxy.seen.starts]).toEqual(['succeeded', 4])
    expect(await countJobs(account)).toBe(1)
    expect(await open(account).wallet()).toEqual({ available: 97, held: 0 })
  })

  test('usage says what was charged, as a record and as CSV', async () => {
    const account = await app.createAccount(100)
    const client = open(account)
    await client.run(model, input, { maxCredits: 5, labels: { team: 'ads' } })
    const group_by = 'label:team'
    expect(await client.usage({ group_by, limit: 5 })).toMatchObject({
      data: [{ labels: { team: 'ads' }, charged: 3 }],
    })
    expect(await client.usageTable({ group_by })).toBe('label:team,jobs,succeeded,charged\r\nads,1,1,3\r\n')
    await expect(client.usage({ from: 'today' })).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('lost lines', () => {
  test('a start whose answer is lost is repeated with its key: one job, paid once', async () => {
    const account = await app.createAccount(100)
    await using proxy = await openForgetfulProxy(app.url)
    const job = await open(account, proxy.url).generate(model, input)
    expect(job.status).toBe('succeeded')
    expect(proxy.seen.starts).toBe(3)
    expect(await countJobs(account)).toBe(1)
    expect(await open(account).wallet()).toMatchObject({ available: 97, held: 0 })
  })

  test('a start that is never answered names the key with which it is resumed', async () => {
    const account = await app.createAccount(100)
    await using proxy = await openForgetfulProxy(app.url, 9)
    const lost = open(account, proxy.url).generate(model, input, { pausesMs: [] })
    const { idempotencyKey } = (await lost.catch((error: Unreachable) => error)) as Unreachable
    const job = await open(account).generate(model, input, { idempotencyKey: idempotencyKey ?? undefined })
    expect(job.status).toBe('succeeded')
    expect(await countJobs(account)).toBe(1)
  })

  test('a start whose answer is lost, and that is then refused for now, names its key as well', async () => {
    const account = await app.createAccount(100)
    let starts = 0
    await using proxy = await openProxy(app.url, (path, pass, response) => {
      if (path !== 'POST /v1/generate') return false
      starts += 1
      if (starts > 1) response.writeHead(503).end()
      else {
        pass()
        response.write = () => !response.destroy()
      }
      return true
    })
    const lost = open(account, proxy.url).generate(model, input, { pausesMs: [0] })
    const { idempotencyKey } = (await lost.catch((error: Refused) => error)) as Refused
    const job = await open(account).generate(model, input, { idempotencyKey: idempotencyKey ?? undefined })
    expect(job.status).toBe('succeeded')
    expect(await countJobs(account)).toBe(1)
  })

  test('events that break off are followed again; where none come the record is read', async () => {
    const gate = app.gate()
    let watches = 0
    await using proxy = await openProxy(app.url, (path, _pass, response) => {
      if (!path.endsWith('/events')) return false
      watches += 1
      if (watches === 2) gate.open()
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 1\n\nevent: job\ndata: {"sta')
      return true
    })
    const job = await open(app.account, proxy.url).generate('test/gate/text-to-image', gate.input)
    expect(job.status).toBe('succeeded')
    expect(watches).toBeGreaterThanOrEqual(2)
  })

  test('a line that is cut between two events is taken up after the first one', async () => {
    const account = await app.createAccount(100)
    const gate = app.gate()
    await using proxy = await openCuttingProxy(app.url, gate.open)
    const job = await open(account, proxy.url).generate('test/gate/text-to-image', gate.input)
    expect(job).toMatchObject({ status: 'succeeded', billing: { held: 10, charged: 10 } })
    expect(proxy.watches).toEqual([undefined, expect.stringMatching(/^\d+$/)])
    expect(await countJobs(account)).toBe(1)
  })

  test('a missing server is unreachable', async () => {
    const client = open(app.account, 'http://127.0.0.1:1')
    await expect(client.wallet()).rejects.toThrow(Unreachable)
  })
})

describe('refusals', () => {
  test('have the code, the details and the request id', async () => {
    const refused = open().quote(model, { prompt: '', width: 1 })
    await expect(refused).rejects.toThrow(Refused)
    await expect(refused).rejects.toMatchObject({
      code: 'invalid_input',
      problem: { status: 400, errors: [{ pointer: '/input/prompt' }, { pointer: '/input/width' }] },
    })
  })

  test('an answer that mediagen did not write says so', async () => {
    await using proxy = await openProxy(app.url, (_path, _pass, response) => {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
      return true
    })
    await expect(open(app.account, proxy.url).wallet()).rejects.toMatchObject({
      code: 'unexpected_answer',
      message: expect.stringContaining('HTTP 502'),
    })
  })
})

test('an upload is an input', async () => {
  const client = open()
  const picture = new Blob([readFileSync(join(import.meta.dirname, '../models/picture.png'))], {
    type: 'image/png',
  })
  const file = await client.upload(picture)
  expect(file).toMatchObject({ content_type: 'image/png', bytes: picture.size })
  expect((await client.files()).data.map(({ file_id }) => file_id)).toContain(file.file_id)
  await client.removeFile(file.file_id)
  expect((await client.files()).data.map(({ file_id }) => file_id)).not.toContain(file.file_id)
})

test('models, jobs and entries are listed and found', async () => {
  const client = open()
  expect((await client.models({ search: 'instant', limit: 1 })).data).toHaveLength(1)
  expect((await client.model(model)).openapi).toHaveProperty('openapi')
  const job = await client.start(model, { prompt: 'a walrus' })
  expect((await client.jobs({ search: 'walrus' })).data[0]?.job_id).toBe(job.job_id)
  expect((await client.follow(job.job_id)).status).toBe('succeeded')
  expect((await client.cancel(job.job_id)).status).toBe('succeeded')
  await client.removeJob(job.job_id)
  expect((await client.jobs({ search: 'walrus' })).total).toBe(0)
  expect((await client.entries({ limit: 2 })).data).toHaveLength(2)
})
