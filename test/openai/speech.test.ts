// OpenAI's own library and the AI SDK make speech here, and pay once (P271, P272, P273, P275).
import { execFileSync } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import { generateSpeech } from 'ai'
import OpenAI, { APIError } from 'openai'
import { pino } from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import { startApp } from '../../src/app/start.ts'
import { readConfig } from '../../src/config.ts'
import { ffmpeg } from '../files/recordings.ts'
import { startTestApp, testCatalog, withBuiltin } from '../test-app.ts'
import { cutFirst } from './cut-line.ts'

const settings = {
  MEDIAGEN_CATALOG: `${testCatalog}:${join(import.meta.dirname, '../models/openai.yaml')}`,
  MEDIAGEN_OPENAI_SPEECH_MODEL: 'tts-1',
}
const app = await startTestApp(settings, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())

const path = '/v1/audio/speech'
const model = 'tts-1'
const good = { model, input: 'Good evening.', voice: 'amy' }
const builtin = 'builtin/audio/speech/text-to-speech'

/** A new account, and clients with its key. */
async function createClient({ credits = 1000, ceiling = '100', fetched = fetch } = {}) {
  const { key } = await app.createAccount(credits)
  const headers = ceiling === '' ? {} : { 'Mediagen-Max-Credits': ceiling }
  const options = { apiKey: key, baseURL: `${app.url}/v1`, fetch: fetched }
  return {
    key,
    sdk: new OpenAI({ ...options, defaultHeaders: headers }),
    provider: createOpenAI({ ...options, headers }),
    jobs: async () => (await app.send('/v1/jobs', { key })).body,
    wallet: async () => (await app.send('/v1/wallet', { key })).body,
    post: (body: object) =>
      fetch(app.url + path, {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  }
}

const bytesOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer())

/** The loudest of samples of 16 bits, of at most 32768. */
function loudestOf(samples: Buffer): number {
  return new Int16Array(Uint8Array.from(samples).buffer).reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
}

/** The samples of a sound, 48,000 a second, as FFmpeg decodes them. */
function decode(sound: Uint8Array): Buffer {
  const options = '-v error -i - -f s16le -ac 1 -ar 48000 -'.split(' ')
  return execFileSync(ffmpeg?.ffmpeg ?? '', options, { input: sound, maxBuffer: 100_000_000 })
}

/** What a call of the library was refused with. */
async function refusalOf(call: Promise<unknown>): Promise<APIError> {
  const error: unknown = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(APIError)
  return error as APIError
}

describe('speech', () => {
  test('comes as bytes with their type and length; the job has the real model and its own fields', async () => {
    const { sdk, jobs, wallet } = await createClient()
    const answer = await sdk.audio.speech.create({ ...good, voice: 'onyx', response_format: 'wav', speed: 1.5 })
    const bytes = await bytesOf(answer)
    expect(bytes.subarray(44)).toHaveLength(48_000)
    expect(loudestOf(bytes.subarray(44))).toBe(16_000)
    const [job] = (await jobs()).data
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'audio/wav',
      'content-length': String(bytes.length),
      'mediagen-job': job.job_id,
      'mediagen-credits-charged': '1',
      'mediagen-receipt': `held=1, charged=1, released=0, quote_id="${job.quote_id}", key_id="${job.key_id}"`,
      'x-should-retry': 'false',
    })
    expect(job).toMatchObject({
      model: 'test/openai/speech',
      input: { text: good.input, voice: 'bob', pitch: -2, format: 'wav', speed: 1.5 },
    })
    expect(await wallet()).toMatchObject({ available: 999, held: 0 })
  })

  test('of the default model, at defaults that it does not have: they ask for nothing', async () => {
    const { post, jobs } = await createClient()
    const defaults = {
      response_format: 'mp3',
      speed: 1,
      instructions: '',
      stream_format: 'audio',
      voice: null,
      stream: false,
    }
    const answer = await post({ input: 'Good evening.', model: null, ...defaults })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'audio/wav'])
    expect((await jobs()).data[0].input).toEqual({ text: 'Good evening.', speed: 1 })
  })

  test('comes as events', async () => {
    const { post } = await createClient()
    const answer = await post({ ...good, stream_format: 'sse' })
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    expect(answer.headers.get('mediagen-credits-charged')).toBe('1')
    const lines = (await answer.text()).split('\n\n')
    expect(lines.pop()).toBe('')
    const events = lines.map((line) => JSON.parse(line.replace(/^data: /, '')))
    expect(events.pop()).toEqual({
      type: 'speech.audio.done',
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    })
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['speech.audio.delta']))
    const sound = Buffer.concat(events.map(({ audio }) => Buffer.from(audio, 'base64')))
    expect(sound).toEqual(await bytesOf(await post(good)))
    const refused = await post({ ...good, stream_format: 'sse', voice: 'zoe' })
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: 'voice' } }])
  })

  test('through a gateway in front of a core elsewhere', async () => {
    const { key, post } = await createClient()
    const core = { MEDIAGEN_CORE_URL: app.app.grpcUrl ?? '', MEDIAGEN_HTTP_PORT: '0' }
    await using gateway = await startApp(readConfig(core), { log: pino({ level: 'silent' }) })
    const sdk = new OpenAI({ apiKey: key, baseURL: `${gateway.httpUrl}/v1` })
    const answer = await sdk.audio.speech.create(
      { ...good, voice: 'onyx' },
      { headers: { 'Mediagen-Max-Credits': '9' } },
    )
    expect(await bytesOf(answer)).toEqual(await bytesOf(await post(good)))
  })

  test('by the AI SDK, which names a voice and a format of OpenAI where its user named none', async () => {
    const { provider, jobs } = await createClient()
    const { audio } = await generateSpeech({ model: provider.speech(builtin), text: 'The kettle is on.' })
    expect((await jobs()).data[0].input).toEqual({ text: 'The kettle is on.', voice: 'slt', format: 'mp3' })
    expect(audio).toMatchObject({ mediaType: 'audio/mpeg', format: 'mp3' })
    if (!ffmpeg) return
    const samples = decode(audio.uint8Array)
    expect(samples.length / 2 / 48_000).toBeGreaterThan(0.7)
    expect(loudestOf(samples)).toBeGreaterThan(3000)
  })

  // Its body: backend/open_webui/routers/audio.py at 01fb3e4.
  test('as Open WebUI asks for it, with a voice of the six that it knows', async () => {
    const { post } = await createClient()
    const answer = await post({ input: 'Hello.', voice: 'shimmer', model: builtin })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'audio/mpeg'])
  })

  test.each([
    ['opus', 'audio/ogg'],
    ['aac', 'audio/mp4'],
  ] as const)('as %s, by its true type', async (response_format, type) => {
    const { sdk } = await createClient()
    const answer = await sdk.audio.speech.create({ model: builtin, input: 'Hello.', voice: 'ash', response_format })
    expect(answer.headers.get('content-type')).toBe(type)
    if (ffmpeg) expect(loudestOf(decode(await bytesOf(answer)))).toBeGreaterThan(3000)
  })
})

describe('voices', () => {
  const ask = (query = '', key = app.account.key) => app.send(`/v1/audio/voices${query}`, { key })
  const own = [
    { id: 'amy', name: 'Amy' },
    { id: 'bob', name: 'bob' },
    { id: 'alloy', name: 'alloy' },
    { id: 'onyx', name: 'onyx' },
  ]

  test('of the default model, by an alias, as objects and as names', async () => {
    expect(await ask()).toMatchObject({ status: 200, body: { object: 'list', data: own, voices: own } })
    expect((await ask('?model=tts-1&legacy=true')).body).toEqual({
      object: 'list',
      data: own,
      voices: own.map(({ id }) => id),
    })
  })

  test('each of the built-in model speaks, under its own name and under those of OpenAI', async () => {
    const { data } = (await ask(`?model=${builtin}`)).body
    expect(data.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(['slt', 'alloy', 'shimmer']))
    expect(data[0]).toEqual({ id: 'slt', name: 'Sarah' })
    expect(data).toHaveLength(23)
  })

  test('none of a model that has no choice of them', async () => {
    const { status, body } = await ask('?model=builtin/audio/music/text-to-audio')
    expect([status, body]).toEqual([200, { object: 'list', data: [], voices: [] }])
  })

  test('refused in words', async () => {
    expect(await ask('?model=tts-9')).toMatchObject({ status: 404, body: { code: 'model_not_found' } })
    expect(await ask('?model=gpt-image-1.5')).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', error: { param: 'model' }, detail: expect.stringContaining('sounds') },
    })
    const reader = await app.createKey(app.account.accountId, ['jobs:read'])
    expect(await ask('', reader)).toMatchObject({ status: 403, body: { permission: 'generate' } })
  })
})

describe('a refusal is in the words of this server, is not repeated, and holds nothing', () => {
  test.each<[string, object, object]>([
    ['no text', { input: '' }, { status: 400, code: 'invalid_request', param: 'input' }],
    ['a text of blanks', { input: ' ' }, { status: 400, code: 'invalid_input', param: 'input' }],
    ['4097 characters', { input: '🦊'.repeat(4097) }, { status: 400, code: 'invalid_request', param: 'input' }],
    ['more than the model takes', { input: '🦊'.repeat(4096) }, { status: 400, code: 'invalid_input', param: 'input' }],
    ['an unknown voice', { voice: 'zoe' }, { status: 400, param: 'voice', message: /"amy", "bob", "alloy", "onyx"/ }],
    ['an unknown voice of its own', { voice: { id: 'zoe' } }, { status: 400, param: 'voice', message: /alloy/ }],
    ['a voice without an id', { voice: { name: 'amy' } }, { status: 400, code: 'invalid_request' }],
    ['a speed of 5', { speed: 5 }, { status: 400, code: 'invalid_request', param: 'speed' }],
    ['a speed of 4, which the model has not', { speed: 4 }, { status: 400, code: 'invalid_input', param: 'speed' }],
    ['pcm', { response_format: 'pcm' }, { status: 400, param: 'response_format', message: /"wav", "flac"/ }],
    ['an unknown format', { response_format: 'gif' }, { status: 400, param: 'response_format' }],
    ['an unknown form of answers', { stream_format: 'ws' }, { status: 400, param: 'stream_format' }],
    ['instructions', { instructions: 'whisper' }, { status: 400, code: 'invalid_request', param: 'instructions' }],
    ['an unknown field', { volume: 3 }, { status: 400, code: 'invalid_request', param: 'volume' }],
    ['the same twice', { text: 'Good night.' }, { status: 400, code: 'invalid_request', param: 'text' }],
    ['a model of pictures', { model: 'gpt-image-1.5' }, { status: 400, code: 'invalid_request', param: 'model' }],
    ['an alias of nothing', { model: 'tts-9' }, { status: 404, code: 'model_not_found' }],
  ])('%s', async (_what, change, { message = /./, ...error }: { message?: RegExp }) => {
    let asked = 0
    const fetched: typeof fetch = (...request) => {
      asked += 1
      return fetch(...request)
    }
    const { sdk, jobs, wallet } = await createClient({ fetched })
    const refusal = await refusalOf(sdk.audio.speech.create({ ...good, ...change }))
    expect(refusal).toMatchObject(error)
    expect(refusal.message).toMatch(message)
    expect(refusal.headers?.get('x-should-retry')).toBe('false')
    expect([asked, (await jobs()).total, (await wallet()).held]).toEqual([1, 0, 0])
  })

  test('a wrong key, no credits, no ceiling, a price above it', async () => {
    const poor = await createClient({ credits: 1 })
    const long = { ...good, input: 'x'.repeat(300) }
    const wrong = new OpenAI({ apiKey: 'mgk_wrong', baseURL: `${app.url}/v1` })
    const { sdk: unbounded } = await createClient({ ceiling: '' })
    const { sdk: bounded } = await createClient({ ceiling: '2' })
    const refusals = [
      [wrong, { status: 401, code: 'invalid_api_key', type: 'authentication_error' }],
      [poor.sdk, { status: 402, code: 'insufficient_credits', type: 'insufficient_quota' }],
      [unbounded, { status: 402, code: 'max_credits_required', type: 'insufficient_quota' }],
      [bounded, { status: 402, code: 'price_above_maximum', type: 'insufficient_quota' }],
    ] as const
    for (const [sdk, error] of refusals) expect(await refusalOf(sdk.audio.speech.create(long))).toMatchObject(error)
    expect([(await poor.jobs()).total, await poor.wallet()]).toEqual([
      0,
      expect.objectContaining({ available: 1, held: 0 }),
    ])
  })
})

describe('a repetition is paid once', () => {
  test('of the library, after a cut line', async () => {
    const gate = app.gate()
    const line = cutFirst(gate)
    const { sdk, jobs, wallet } = await createClient({ fetched: line.fetched })
    const answer = await sdk.audio.speech.create({ ...good, ...gate.input })
    expect((await bytesOf(answer)).subarray(0, 4).toString()).toBe('RIFF')
    expect([line.asked, (await jobs()).total, await wallet()]).toEqual([
      2,
      1,
      expect.objectContaining({ available: 999, held: 0 }),
    ])
  })

  test('of a client that hung up in the middle', async () => {
    const { key, post, jobs, wallet } = await createClient()
    const gate = app.gate()
    const body = { ...good, ...gate.input }
    const text = JSON.stringify(body)
    const { hostname, port } = new URL(app.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      'Mediagen-Max-Credits: 100',
      `Content-Length: ${Buffer.byteLength(text)}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
    await gate.begun()
    socket.destroy()
    gate.open()
    await expect.poll(wallet).toMatchObject({ available: 999, held: 0 })
    const answer = await post(body)
    const [job, ...others] = (await jobs()).data
    expect([answer.headers.get('mediagen-job'), others]).toEqual([job.job_id, []])
    expect((await bytesOf(answer)).subarray(0, 4).toString()).toBe('RIFF')
  })
})
