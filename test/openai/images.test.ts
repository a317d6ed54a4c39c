// OpenAI's own library makes pictures here, and pays once (P250, P251, P252, P253, P254, P255, P256, P257, P258, P259, P260, P261).
import { connect } from 'node:net'
import { join } from 'node:path'
import OpenAI, { APIError } from 'openai'
import { pino } from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import { Permission } from '../../gen/mediagen/v1/options_pb.ts'
import { startApp } from '../../src/app/start.ts'
import { readConfig } from '../../src/config.ts'
import { startTestApp, testCatalog, type TestAccount } from '../test-app.ts'

const catalog = `${testCatalog}:${join(import.meta.dirname, '../models/openai.yaml')}`
const app = await startTestApp({
  MEDIAGEN_CATALOG: catalog,
  MEDIAGEN_OPENAI_IMAGE_MODEL: 'dall-e-3',
})
afterAll(() => app[Symbol.asyncDispose]())

const path = '/v1/images/generations'
const model = 'gpt-image-1.5'
const png = Buffer.from('\u0089PNG', 'latin1')

/** A client of a new account. @param fetched sees what is sent, and may cut the line */
async function createClient({ credits = 1000, ceiling = '100', fetched = fetch, url = app.url } = {}) {
  const account = await app.createAccount(credits)
  const headers = ceiling === '' ? {} : { 'Mediagen-Max-Credits': ceiling }
  const sdk = new OpenAI({ apiKey: account.key, baseURL: `${url}/v1`, defaultHeaders: headers, fetch: fetched })
  const jobs = async () => (await app.send('/v1/jobs', { key: account.key })).body
  const wallet = async () => (await app.send('/v1/wallet', { key: account.key })).body
  return { account, sdk, jobs, wallet }
}

/** What a call of the library was refused with, and how often it asked. */
async function refusalOf(call: Promise<unknown>) {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(APIError)
  return error as APIError
}

describe('pictures', () => {
  test('come as bytes, with everything that clients read; the job names the real model', async () => {
    const { sdk, jobs, wallet } = await createClient()
    const { data: made, response } = await sdk.images
      .generate({ model, prompt: 'a fox', size: '512x256', quality: 'auto', user: 'me' })
      .withResponse()
    expect(made).toMatchObject({
      created: expect.any(Number),
      background: 'auto',
      output_format: 'png',
      quality: 'auto',
      size: expect.stringMatching(/^\d+x\d+$/),
      usage: {
        input_tokens: 0,
        input_tokens_details: { text_tokens: 0, image_tokens: 0 },
        output_tokens: 0,
        total_tokens: 0,
      },
    })
    expect(Object.keys(made.data?.[0] ?? {})).toEqual(['b64_json'])
    expect(Buffer.from(made.data?.[0]?.b64_json ?? '', 'base64').subarray(0, 4)).toEqual(png)
    const [job] = (await jobs()).data
    expect(job).toMatchObject({
      model: 'test/openai/text-to-image',
      input: { prompt: 'a fox', width: 512, height: 256 },
      billing: { charged: 2 },
    })
    expect(response.headers.get('mediagen-job')).toBe(job.job_id)
    expect(response.headers.get('mediagen-credits-charged')).toBe('2')
    expect(await wallet()).toMatchObject({ available: 998, held: 0 })
  })

  test('come as addresses that need no key, of the default model where none is named', async () => {
    const { sdk, jobs } = await createClient()
    const { data } = await sdk.images.generate({ prompt: 'a fox', response_format: 'url' })
    const picture = await fetch(data?.[0]?.url ?? '')
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect((await jobs()).data[0].model).toBe('test/openai/text-to-image')
  })

  test('come several at once, priced together', async () => {
    const { sdk, jobs, wallet } = await createClient({ ceiling: '9' })
    const { data, response } = await sdk.images.generate({ model, prompt: 'a fox', n: 3 }).withResponse()
    expect(data.data).toHaveLength(3)
    expect(response.headers.get('mediagen-credits-charged')).toBe('9')
    expect(response.headers.get('mediagen-job')?.split(', ')).toHaveLength(3)
    expect([(await jobs()).total, (await wallet()).available]).toEqual([3, 991])
    const refusal = await refusalOf(sdk.images.generate({ model, prompt: 'a fox', n: 4 }))
    expect(refusal).toMatchObject({ status: 402, code: 'price_above_maximum' })
    expect(refusal.message).toContain('4 of these cost 12 credits, and the request allows at most 9.')
    expect([(await jobs()).total, (await wallet()).available]).toEqual([3, 991])
  })

  test('of a model that the catalog gives sizes and other names (P274)', async () => {
    const { sdk, jobs } = await createClient()
    for (const size of ['1536x1024', '512x512', 'auto'] as const)
      await sdk.images.generate({ model: 'test/openai/ratio', prompt: 'a fox', size, quality: 'high' })
    const inputs = (await jobs()).data.map(({ input }: { input: object }) => input)
    expect(inputs).toEqual([
      { text: 'a fox', steps: 40 },
      { text: 'a fox', steps: 40, aspect_ratio: '1:1' },
      { text: 'a fox', steps: 40, aspect_ratio: '3:2' },
    ])
  })

  test('that cannot all be paid are none', async () => {
    const { sdk, jobs, wallet, account } = await createClient({ credits: 25 })
    const gate = app.gate()
    const body = { model: 'test/openai/gate', prompt: 'x', n: 3, ...gate.input }
    const refusal = await refusalOf(sdk.images.generate(body))
    expect(refusal).toMatchObject({ status: 402, code: 'insufficient_credits' })
    expect(await jobs()).toMatchObject({ total: 2 })
    await expect.poll(async () => (await wallet()).held).toBe(0)
    expect((await app.send('/v1/wallet', { key: account.key })).body.available).toBe(25)
  })
})

describe('the ceiling is the first that is there', () => {
  test('of the header, then of the body', async () => {
    const { sdk } = await createClient({ ceiling: '2' })
    const extra = { max_credits: 3 }
    expect(await refusalOf(sdk.images.generate({ model, prompt: 'x', ...extra }))).toMatchObject({
      status: 402,
      code: 'price_above_maximum',
      type: 'insufficient_quota',
    })
    const { sdk: other } = await createClient({ ceiling: '' })
    expect((await other.images.generate({ model, prompt: 'x', ...extra })).data).toHaveLength(1)
  })

  test('then of the key, then of the server; with none nothing is done', async () => {
    const { sdk, account, jobs } = await createClient({ ceiling: '' })
    const refusal = await refusalOf(sdk.images.generate({ model, prompt: 'x' }))
    expect(refusal).toMatchObject({ status: 402, code: 'max_credits_required', type: 'insufficient_quota' })
    for (const place of ['Mediagen-Max-Credits', 'max_credits', 'per_start', 'MEDIAGEN_OPENAI_MAX_CREDITS'])
      expect(refusal.message).toContain(place)
    const make = async (perStart: bigint) => {
      const key = { accountId: account.accountId, permissions: [Permission.GENERATE], limits: { perStart } }
      const { secret } = await app.admin.createKey(key)
      return app.send(path, { key: secret, body: { model, prompt: 'x' } })
    }
    expect(await make(2n)).toMatchObject({ status: 402, body: { code: 'price_above_maximum' } })
    expect(await make(3n)).toMatchObject({ status: 200 })
    expect((await jobs()).total).toBe(1)
    await using server = await startTestApp({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_OPENAI_MAX_CREDITS: '3' })
    expect(await server.send(path, { body: { model, prompt: 'x' } })).toMatchObject({ status: 200 })
    const large = { model, prompt: 'x', size: '2048x2048' }
    expect(await server.send(path, { body: large })).toMatchObject({ body: { code: 'price_above_maximum' } })
  })
})

describe('a refusal is in the words of this server, is not repeated, and holds nothing', () => {
  const good = { model, prompt: 'x' }
  test.each<[string, object, object]>([
    ['11 pictures', { n: 11 }, { status: 400, code: 'invalid_request', param: 'n' }],
    ['a half picture', { n: 0.5 }, { status: 400, code: 'invalid_request', param: 'n' }],
    ['an unknown field', { steps: 30 }, { status: 400, code: 'invalid_request', param: 'steps' }],
    [
      'a form of answers',
      { response_format: 'gif' },
      { status: 400, code: 'invalid_request', param: 'response_format' },
    ],
    ['a size of the wrong form', { size: 'big' }, { status: 400, code: 'invalid_request', param: 'size' }],
    ['a size that the model has not', { size: '16x16' }, { status: 400, code: 'invalid_input', param: 'width' }],
    ['no prompt', { prompt: null }, { status: 400, code: 'invalid_input', param: 'prompt' }],
    [
      'a field that the catalog maps',
      { model: 'test/openai/ratio', prompt: '' },
      { code: 'invalid_input', param: 'prompt' },
    ],
    ['an alias of nothing', { model: 'gpt-image-9' }, { status: 404, code: 'model_not_found' }],
    ['an alias of no picture', { model: 'test/unready/video-to-video' }, { status: 400, param: 'model' }],
    ['a ceiling below 0', { max_credits: -1 }, { status: 400, code: 'invalid_request', param: 'max_credits' }],
  ])('%s', async (_what, change, error) => {
    let asked = 0
    const fetched: typeof fetch = (...request) => {
      asked += 1
      return fetch(...request)
    }
    const { sdk, jobs } = await createClient({ fetched })
    const refusal = await refusalOf(sdk.images.generate({ ...good, ...change }))
    expect(refusal).toMatchObject(error)
    expect(refusal.headers?.get('x-should-retry')).toBe('false')
    expect([asked, (await jobs()).total]).toEqual([1, 0])
  })

  test('a query parameter, except the version that clients of Azure send', async () => {
    const { account } = await createClient()
    const ask = (query: string) =>
      app.send(`${path}?${query}`, { key: account.key, headers: { 'mediagen-max-credits': '100' }, body: good })
    expect((await ask('api-version=2026-01-01')).status).toBe(200)
    expect((await ask('api-versio=1')).body).toMatchObject({ code: 'invalid_request', error: { param: 'api-versio' } })
  })

  test('a wrong key, no credits, a key that may not generate, a wrong header, a failed job', async () => {
    const { account } = await createClient({ credits: 1 })
    const ask = (change: object = {}, headers: Record<string, string> = {}, key = account.key) =>
      app.send(path, { key, headers: { 'mediagen-max-credits': '100', ...headers }, body: { ...good, ...change } })
    const reader = await app.createKey(account.accountId, ['jobs:read'])
    const rich = await createClient()
    const answers = [
      [await ask({}, {}, 'mgk_wrong'), 401, 'authentication_error', 'invalid_api_key'],
      [await ask(), 402, 'insufficient_quota', 'insufficient_credits'],
      [await ask({}, {}, reader), 403, 'permission_error', 'missing_permission'],
      [await ask({}, { 'mediagen-max-credits': '1.5' }), 400, 'invalid_request_error', 'invalid_request'],
      [await ask({ model: 'test/openai/failing' }, {}, rich.account.key), 502, 'server_error', 'generation_failed'],
    ] as const
    for (const [{ status, headers, body }, wanted, type, code] of answers) {
      expect([status, body.error]).toEqual([wanted, expect.objectContaining({ type, code, message: body.detail })])
      expect(headers.get('x-should-retry')).toBe('false')
    }
    const failed = answers[4][0]
    expect(failed.body.detail).toContain('the paint ran out')
    expect(failed.body.detail).toContain(failed.headers.get('mediagen-job'))
    expect(await rich.wallet()).toMatchObject({ available: 1000, held: 0 })
    // It was an answer: an equal request is a new one.
    await ask({ model: 'test/openai/failing' }, {}, rich.account.key)
    expect((await rich.jobs()).total).toBe(2)
  })
})

describe('a repetition is paid once', () => {
  /** A client whose first line is cut when the job runs, as its library sees it. */
  async function cutOnce(act: (sdk: OpenAI, gate: ReturnType<typeof app.gate>) => Promise<unknown>) {
    const gate = app.gate()
    let asked = 0
    const { sdk, jobs, wallet } = await createClient({
      fetched: async (url, options) => {
        asked += 1
        if (asked > 1) gate.open()
        const cut = new AbortController()
        const answer = fetch(url, { ...options, ...(asked === 1 && { signal: cut.signal }) })
        if (asked > 1) return answer
        answer.catch(() => {})
        await gate.begun()
        cut.abort()
        throw new TypeError('the line was cut')
      },
    })
    await act(sdk, gate)
    return { asked, jobs: (await jobs()).total, wallet: await wallet() }
  }

  test('of the library, after a cut line', async () => {
    const { asked, jobs, wallet } = await cutOnce((sdk, gate) =>
      sdk.images.generate({ model: 'test/openai/gate', prompt: 'x', ...gate.input }),
    )
    expect([asked, jobs, wallet]).toEqual([2, 1, expect.objectContaining({ available: 990, held: 0 })])
  })

  test('of two pictures', async () => {
    const { jobs, wallet } = await cutOnce((sdk, gate) =>
      sdk.images.generate({ model: 'test/openai/gate', prompt: 'x', n: 2, ...gate.input }),
    )
    expect([jobs, wallet]).toEqual([2, expect.objectContaining({ available: 980, held: 0 })])
  })

  const body = { model, prompt: 'x', max_credits: 100 }

  test('by its Idempotency-Key, which starts nothing else', async () => {
    const { account, jobs } = await createClient()
    const ask = (change: object = {}) =>
      app.send(path, { key: account.key, headers: { 'idempotency-key': '"k-1"' }, body: { ...body, ...change } })
    const answers = await Promise.all([ask(), ask(), ask()])
    expect(new Set(answers.map(({ headers }) => headers.get('mediagen-job'))).size).toBe(1)
    const refused = await ask({ prompt: 'y' })
    expect(refused).toMatchObject({
      status: 422,
      body: { status: 422, code: 'idempotency_key_reused', error: { type: 'invalid_request_error' } },
    })
    expect((await jobs()).total).toBe(1)
    const same = await app.send(path, { key: account.key, headers: { 'idempotency-key': 'k-1' }, body })
    expect(same.headers.get('mediagen-job')).toBe(answers[0]?.headers.get('mediagen-job'))
  })

  test('P310 but not by a key that no start may have', async () => {
    const { account, jobs } = await createClient()
    const refused = await app.send(path, { key: account.key, headers: { 'idempotency-key': 'k 1' }, body })
    expect(refused).toMatchObject({ status: 400, body: { code: 'idempotency_key_invalid' } })
    expect((await jobs()).total).toBe(0)
  })

  test('a client that hung up gets the same job, once', async () => {
    const { account, jobs } = await createClient()
    const gate = app.gate()
    const text = JSON.stringify({ ...body, model: 'test/openai/gate', ...gate.input })
    await hangUp(account, text, gate.begun)
    gate.open()
    await expect
      .poll(async () => (await app.send('/v1/wallet', { key: account.key })).body)
      .toMatchObject({ available: 990, held: 0 })
    const ask = () => app.send(path, { key: account.key, body: text })
    const [first, second] = [await ask(), await ask()]
    const ids = (await jobs()).data.map(({ job_id }: { job_id: string }) => job_id)
    expect([second, first].map(({ headers }) => headers.get('mediagen-job'))).toEqual(ids)
    expect(ids).toHaveLength(2)
  })

  test('a wait that is over names its job, which an equal request waits for', async () => {
    await using hasty = await startTestApp({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_WAIT_SECONDS: '1' })
    const gate = hasty.gate()
    const ask = () => hasty.send(path, { body: { ...body, model: 'test/openai/gate', ...gate.input } })
    const first = await ask()
    const [job] = (await hasty.send('/v1/jobs')).body.data
    expect(first).toMatchObject({
      status: 504,
      body: { code: 'generation_unfinished', error: { type: 'server_error' } },
    })
    expect(first.body.detail).toContain(job.job_id)
    expect([first.headers.get('x-should-retry'), first.headers.get('mediagen-job')]).toEqual(['false', job.job_id])
    gate.open()
    expect((await ask()).headers.get('mediagen-job')).toBe(job.job_id)
    expect((await hasty.send('/v1/jobs')).body.total).toBe(1)
  })

  test('equal requests side by side, and one after another, are as many pictures', async () => {
    const { account, jobs } = await createClient()
    const ask = () => app.send(path, { key: account.key, body })
    await Promise.all([ask(), ask(), ask()])
    await ask()
    expect((await jobs()).total).toBe(4)
  })

  test('by the library at another process, which knows no earlier request', async () => {
    const { account, jobs } = await createClient()
    const settings = { MEDIAGEN_CORE_URL: app.app.grpcUrl ?? '', MEDIAGEN_HTTP_PORT: '0' }
    await using other = await startApp(readConfig(settings), { log: pino({ level: 'silent' }) })
    const ask = (url: string, count: string) =>
      fetch(url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${account.key}`,
          'content-type': 'application/json',
          'x-stainless-retry-count': count,
        },
        body: JSON.stringify(body),
      })
    const first = await ask(app.url, '0')
    const second = await ask(other.httpUrl, '1')
    expect(second.status).toBe(200)
    expect(second.headers.get('mediagen-job')).toBe(first.headers.get('mediagen-job'))
    expect((await jobs()).total).toBe(1)
    // A new one there is a new job.
    expect((await ask(other.httpUrl, '0')).headers.get('mediagen-job')).not.toBe(first.headers.get('mediagen-job'))
    expect((await jobs()).total).toBe(2)
  })
})

/** Sends a request and hangs up when its job has begun. */
async function hangUp({ key }: TestAccount, body: string, begun: () => Promise<void>): Promise<void> {
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  await begun()
  socket.destroy()
}
