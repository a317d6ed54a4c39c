// The provider of the AI SDK: the real `ai` package makes pictures, speech and videos on a real server, and pays once.
import { join } from 'node:path'
import {
  APICallError,
  createProviderRegistry,
  experimental_generateVideo as generateVideo,
  experimental_getVideoStatus as getVideoStatus,
  experimental_startVideo as startVideo,
  generateImage,
  generateSpeech,
  type JSONValue,
} from 'ai'
import sharp from 'sharp'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { createMediagen, type MediagenSettings } from '../../packages/ai-sdk/src/provider.ts'
import { openForgetfulProxy, openProxy } from '../client/spoiled-proxy.ts'
import { openReceiver } from '../outgoing/receiver.ts'
import { startTestApp, testCatalog, withBuiltin } from '../test-app.ts'

// Warnings are in the results; the AI SDK would write them to the console, too.
vi.stubGlobal('AI_SDK_LOG_WARNINGS', false)
afterAll(() => void vi.unstubAllGlobals())
const app = await startTestApp(
  {
    MEDIAGEN_CATALOG: `${testCatalog}:${join(import.meta.dirname, '../models/ai-sdk.yaml')}`,
    MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true',
  },
  withBuiltin,
)
afterAll(() => app[Symbol.asyncDispose]())

const picture = 'test/ai-sdk/picture'
const prompt = 'a fox'

/** A provider with a new account. */
async function open({ credits = 100, ...settings }: Partial<MediagenSettings> & { credits?: number } = {}) {
  const account = await app.createAccount(credits)
  const connection = { baseURL: app.url, apiKey: account.key, maxCredits: 20, ...settings }
  const jobs = async () => (await app.send('/v1/jobs', { key: account.key })).body.data
  const available = async () => (await app.send('/v1/wallet', { key: account.key })).body.available
  return { mediagen: createMediagen(connection), connection, account, jobs, available }
}

/** What a call was refused with, without a second try. */
async function refusalOf(call: Promise<unknown>): Promise<APICallError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(APICallError.isInstance(error), String(error)).toBe(true)
  expect(error).toMatchObject({ isRetryable: false })
  return error as APICallError
}

/** A picture of noise, which cannot be compressed. */
async function makeNoise(side: number): Promise<Uint8Array> {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const
  return sharp({ create: { width: side, height: side, channels: 3, background: 'white', noise } })
    .png()
    .toBuffer()
}

describe('pictures', () => {
  test('come as bytes, with what they cost', async () => {
    const { mediagen, jobs, available } = await open({ headers: { 'X-Request-Id': 'req_ai-sdk' } })
    const made = await generateImage({
      model: mediagen.image(picture),
      prompt,
      size: '512x256',
      aspectRatio: '16:9',
      providerOptions: { mediagen: { input: { style: 'ink' } } },
    })
    expect((await sharp(made.image.uint8Array).metadata()).format).toBe('png')
    const [job, ...others] = await jobs()
    expect(others).toEqual([])
    expect(job.input).toEqual({ prompt, width: 512, height: 256, aspect_ratio: '16:9', style: 'ink' })
    const about = { jobId: job.job_id, quoted: 3, charged: 3 }
    expect(made.providerMetadata).toEqual({ mediagen: { images: [about] } })
    expect(made.calls[0]?.providerMetadata).toEqual({ mediagen: { ...about, images: [about] } })
    const headers = { 'x-request-id': 'req_ai-sdk', 'content-type': 'application/json; charset=utf-8' }
    expect(made.responses).toMatchObject([{ timestamp: expect.any(Date), modelId: picture, headers }])
    expect(made.warnings).toEqual([])
    expect(await available()).toBe(97)
  })

  test('of n, each is a job', async () => {
    const { mediagen, jobs, available } = await open()
    const { images } = await generateImage({ model: mediagen.image(picture), prompt, n: 3 })
    expect(images).toHaveLength(3)
    expect(new Set((await jobs()).map((job: { job_id: string }) => job.job_id)).size).toBe(3)
    expect(await available()).toBe(91)
  })

  test('a registry finds them, and the address may end in /v1', async () => {
    const { mediagen } = await open({ baseURL: `${app.url}/v1/` })
    const registry = createProviderRegistry({ mediagen })
    expect((await generateImage({ model: registry.imageModel(`mediagen:${picture}`), prompt })).images).toHaveLength(1)
    expect(() => mediagen.languageModel('x')).toThrow('No such languageModel: x')
  })

  test('options that the model has no field for are warnings', async () => {
    const { mediagen } = await open()
    const model = mediagen.image('test/instant/text-to-image')
    const photo = await makeNoise(8)
    const made = await generateImage({
      model,
      prompt: { text: prompt, images: [photo], mask: photo },
      size: '512x512',
      aspectRatio: '1:1',
      seed: 7,
      n: 2,
      maxImagesPerCall: 2,
    })
    expect(made.images).toHaveLength(1)
    const features = ['n', 'size', 'aspectRatio', 'seed', 'files', 'mask']
    expect(made.warnings).toEqual(
      features.map((feature) => ({
        type: 'unsupported',
        feature,
        details: 'test/instant/text-to-image has no field for it.',
      })),
    )
  })

  test('files go to the media fields of the model: small ones in the input, great ones uploaded once', async () => {
    const { mediagen, account, jobs } = await open()
    const [small, great] = [await makeNoise(8), await makeNoise(256)]
    const images = [small, great, 'https://pictures.example/fox.png']
    const call = { model: mediagen.image(picture), prompt: { text: prompt, images, mask: small } }
    // Nothing is at that address; what counts is the input.
    await generateImage({ ...call, n: 2 }).catch(() => {})
    const { job_id: id } = (await jobs())[0]
    const { body: job } = await app.send(`/v1/jobs/${id}`, { key: account.key })
    const embedded = `data:image/png;base64,${Buffer.from(small).toString('base64')}`
    const { body: files } = await app.send('/v1/files', { key: account.key })
    expect(files.data).toHaveLength(1)
    const references = [files.data[0].file_id, 'https://pictures.example/fox.png']
    expect(job.input).toEqual({ prompt, image: embedded, references, mask_image: embedded })
  })
})

describe('refusals cost nothing and are not repeated', () => {
  test('a wrong key', async () => {
    const { mediagen } = await open({ apiKey: `mgk_${'0'.repeat(43)}` })
    const error = await refusalOf(generateImage({ model: mediagen.image(picture), prompt }))
    expect(error).toMatchObject({ statusCode: 401, data: { code: 'invalid_api_key' } })
  })

  test('a model that is not there', async () => {
    const { mediagen } = await open()
    const error = await refusalOf(generateImage({ model: mediagen.image('test/none'), prompt }))
    expect(error).toMatchObject({ statusCode: 404, data: { code: 'model_not_found' } })
  })

  test('too few credits, in the words of the server', async () => {
    const { mediagen } = await open({ credits: 1 })
    const error = await refusalOf(generateImage({ model: mediagen.image(picture), prompt }))
    expect(error).toMatchObject({ statusCode: 402, data: { code: 'insufficient_credits' } })
    expect(error.message).toBe((error.data as { detail: string }).detail)
  })

  test('a price above the ceiling, also of one call', async () => {
    const { mediagen, jobs } = await open()
    const providerOptions = { mediagen: { maxCredits: 2 } }
    const error = await refusalOf(generateImage({ model: mediagen.image(picture), prompt, providerOptions }))
    expect(error).toMatchObject({ statusCode: 402, data: { code: 'price_above_maximum' } })
    expect(error.message).toMatch(/3 credits/)
    expect(error.requestBodyValues).toEqual({ model: picture, input: { prompt }, max_credits: 2 })
    expect(await jobs()).toEqual([])
  })

  test.each([
    [{}, /set it here, or as maxCredits of createMediagen/],
    [{ maxCredits: 1.5 }, /maxCredits: it must be a whole number of credits, and is 1.5/],
    [{ max_credits: 5 }, /max_credits: it does not exist/],
    [{ input: [1], maxCredits: 5 }, /input: it must be an object/],
  ])('providerOptions.mediagen %j, before a request', async (options, words) => {
    const fetch = () => Promise.reject(new Error('asked the server'))
    const { mediagen } = await open({ maxCredits: undefined, fetch })
    const providerOptions = { mediagen: options as Record<string, JSONValue> }
    const call = generateImage({ model: mediagen.image(picture), prompt, providerOptions })
    await expect(call).rejects.toThrow(words)
    await expect(call).rejects.toMatchObject({ name: 'AI_InvalidArgumentError' })
  })

  test('a job that failed, with its reason', async () => {
    const { mediagen, jobs, available } = await open()
    const error = await refusalOf(generateImage({ model: mediagen.image('test/ai-sdk/failing'), prompt }))
    const [job, ...others] = await jobs()
    expect(others).toEqual([])
    expect(error.message).toMatch(/the paint ran out/)
    expect(error.data).toEqual({ code: 'program_failed', jobId: job.job_id, quoted: 7, charged: 0 })
    expect(await available()).toBe(100)
  })
})

test('a job that is paid and made no picture is not made again', async () => {
  const { mediagen, jobs } = await open()
  const call = generateImage({ model: mediagen.image('test/nothing/text-to-image'), prompt })
  await expect(call).rejects.toMatchObject({
    name: 'AI_NoImageGeneratedError',
    calls: [{ providerMetadata: { mediagen: { charged: 3 } } }],
  })
  expect(await jobs()).toHaveLength(1)
})

describe('a call that is repeated pays once', () => {
  test('when the answers to starts are lost, of each of n', async () => {
    await using proxy = await openForgetfulProxy(app.url)
    const { mediagen, jobs, available } = await open({ baseURL: proxy.url })
    const { images } = await generateImage({ model: mediagen.image(picture), prompt, n: 2 })
    expect(images).toHaveLength(2)
    expect(proxy.seen.starts).toBe(4)
    expect(await jobs()).toHaveLength(2)
    expect(await available()).toBe(94)
  })

  test('when something between answers 503 after the start has arrived', async () => {
    const seen: unknown[] = []
    await using proxy = await openProxy(app.url, (path, pass, response, headers) => {
      if (path !== 'POST /v1/run' || seen.push(headers['idempotency-key']) > 1) return false
      pass()
      response.writeHead = () => {
        response.socket?.end('HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n')
        return response
      }
      return true
    })
    const { mediagen, jobs, available } = await open({ baseURL: proxy.url })
    await generateImage({ model: mediagen.image(picture), prompt })
    expect(seen).toEqual([seen[0], seen[0]])
    expect(await jobs()).toHaveLength(1)
    expect(await available()).toBe(97)
  })

  test('when the line to the file of a finished job breaks', async () => {
    let downloads = 0
    const { mediagen, jobs, available } = await open({
      fetch: (url, init) => {
        const isFile = !new URL(String(url)).pathname.startsWith('/v1/')
        return isFile && (downloads += 1) === 1 ? Promise.reject(new TypeError('fetch failed')) : fetch(url, init)
      },
    })
    expect((await generateImage({ model: mediagen.image(picture), prompt })).images).toHaveLength(1)
    expect(downloads).toBe(2)
    expect(await jobs()).toHaveLength(1)
    expect(await available()).toBe(97)
  })

  test('in another process, with a key of the caller', async () => {
    const { connection, jobs } = await open()
    const headers = { 'Idempotency-Key': 'order-7' }
    const make = () => generateImage({ model: createMediagen(connection).image(picture), prompt, n: 2, headers })
    const [first, second] = [await make(), await make()]
    const idsOf = ({ providerMetadata }: typeof first) => new Set(JSON.stringify(providerMetadata).match(/job_\w+/g))
    expect(idsOf(second)).toEqual(idsOf(first))
    expect(await jobs()).toHaveLength(2)
  })
})

test('an abort ends the wait; the job goes on', async () => {
  const { mediagen, jobs } = await open()
  const gate = app.gate()
  const leaving = new AbortController()
  const providerOptions = { mediagen: { input: gate.input } }
  const model = mediagen.image('test/gate/text-to-image')
  const call = generateImage({ model, prompt: { images: [] }, providerOptions, abortSignal: leaving.signal })
  const refused = expect(call).rejects.toThrow('I left')
  await gate.begun()
  leaving.abort(new Error('I left'))
  await refused
  gate.open()
  await expect.poll(async () => (await jobs())[0].status).toBe('succeeded')
})

test('an abort ends a call whose server does not answer', async () => {
  const leaving = new AbortController()
  const fetch = () => {
    leaving.abort(new Error('I left'))
    return new Promise<Response>(() => {})
  }
  const { mediagen } = await open({ fetch })
  const call = generateImage({ model: mediagen.image(picture), prompt, abortSignal: leaving.signal })
  await expect(call).rejects.toThrow('I left')
})

test('speech, in the voice and the format that the call names', async () => {
  const { mediagen, jobs } = await open()
  const made = await generateSpeech({
    model: mediagen.speech('builtin/audio/speech/text-to-speech'),
    text: 'Hello.',
    voice: 'rms',
    outputFormat: 'wav',
    speed: 1.5,
    language: 'en',
  })
  expect(Buffer.from(made.audio.uint8Array.subarray(0, 4)).toString()).toBe('RIFF')
  const [job] = await jobs()
  expect(job.input).toMatchObject({ text: 'Hello.', voice: 'rms', format: 'wav', speed: 1.5 })
  expect(made.warnings).toEqual([expect.objectContaining({ type: 'unsupported', feature: 'language' })])
  const { quoted, charged } = job.billing
  expect(made.providerMetadata).toEqual({ mediagen: { jobId: job.job_id, quoted, charged } })
})

describe('videos', () => {
  test('are started by one provider and found by another, which has only the operation', async () => {
    const { mediagen, connection, account, jobs } = await open()
    const { operation, warnings } = await startVideo({
      model: mediagen.video('builtin/video/kenburns/image-to-video'),
      prompt: { image: await makeNoise(64) },
      resolution: '128x128',
      duration: 1,
      fps: 24,
      generateAudio: true,
      headers: { 'Idempotency-Key': 'film-1' },
    })
    expect(warnings).toEqual([expect.objectContaining({ type: 'unsupported', feature: 'generateAudio' })])
    const other = createMediagen(connection).video('builtin/video/kenburns/image-to-video')
    const stored = JSON.parse(JSON.stringify(operation)) as JSONValue
    const read = () => getVideoStatus(other, { operation: stored })
    await expect.poll(async () => (await read()).status).toBe('completed')
    const done = await read()
    const [job] = await jobs()
    expect(job.input).toMatchObject({ width: 128, height: 128, duration: 1, fps: 24 })
    expect(done).toMatchObject({
      videos: [{ type: 'binary', mediaType: 'video/mp4', data: expect.any(Uint8Array) }],
      providerMetadata: { mediagen: { jobId: job.job_id, charged: job.billing.charged } },
    })
    const { body: found } = await app.send('/v1/jobs?idempotency_key=film-1', { key: account.key })
    expect(found.data[0].job_id).toBe(job.job_id)
  })

  test('generateVideo waits, and a start whose answer is lost is one job', async () => {
    await using proxy = await openForgetfulProxy(app.url, 1)
    const { mediagen, jobs } = await open({ baseURL: proxy.url })
    const made = await generateVideo({
      model: mediagen.video('builtin/video/kenburns/image-to-video'),
      prompt: { image: await makeNoise(64) },
      resolution: '128x128',
      duration: 1,
      poll: { intervalMs: 50 },
    })
    expect(Buffer.from(made.video.uint8Array.subarray(4, 8)).toString()).toBe('ftyp')
    expect(made.warnings).toEqual([])
    const [job, ...others] = await jobs()
    expect(others).toEqual([])
    const { quoted, charged } = job.billing
    expect(made.providerMetadata['mediagen']).toMatchObject({ jobId: job.job_id, quoted, charged })
  })

  test('generateVideo waits for a webhook, and asks for the video once', async () => {
    await using proxy = await openForgetfulProxy(app.url, 1)
    const { mediagen, jobs, account } = await open({ baseURL: proxy.url })
    await using receiver = await openReceiver()
    let asked = 0
    const made = await generateVideo({
      model: mediagen.video('builtin/video/kenburns/image-to-video'),
      prompt: { image: await makeNoise(64) },
      resolution: '128x128',
      duration: 1,
      poll: { intervalMs: 3_600_000, timeoutMs: 60_000 },
      async webhook() {
        asked += 1
        const received = receiver.next().then(({ event }) => ({ headers: {}, body: event as JSONValue }))
        return { url: `${receiver.url}?video=1`, received }
      },
    })
    expect(Buffer.from(made.video.uint8Array.subarray(4, 8)).toString()).toBe('ftyp')
    expect([made.warnings, asked]).toEqual([[], 1])
    const [job, ...others] = await jobs()
    expect(others).toEqual([])
    expect(receiver.received).toMatchObject([{ path: '/hooks?video=1', event: { data: { job_id: job.job_id } } }])
    const { body } = await app.send('/v1/webhooks/starts/deliveries', { key: account.key })
    expect(body.data).toMatchObject([{ job_id: job.job_id, type: 'job.succeeded' }])
  })

  test('with a webhook need a key that may have one', async () => {
    const { account } = await open()
    const key = await app.createKey(account.accountId, ['generate', 'jobs:read', 'models:read'])
    const { video } = createMediagen({ baseURL: app.url, apiKey: key, maxCredits: 20 })
    const refusal = await refusalOf(
      generateVideo({
        model: video('builtin/video/kenburns/image-to-video'),
        prompt: { image: await makeNoise(64) },
        webhook: async () => ({ url: 'https://example.com/', received: new Promise(() => {}) }),
      }),
    )
    expect(refusal).toMatchObject({ statusCode: 403 })
    expect(refusal.message).toContain('permission webhooks')
  })

  test('are pending until their job ends, and an error if it made none', async () => {
    const { mediagen } = await open()
    const gate = app.gate()
    const model = mediagen.video('test/gate/text-to-image')
    const providerOptions = { mediagen: { input: gate.input } }
    const { operation } = await startVideo({ model, prompt: { image: await makeNoise(8) }, providerOptions })
    await gate.begun()
    expect(await getVideoStatus(model, { operation })).toMatchObject({
      status: 'pending',
      providerMetadata: { mediagen: { quoted: 10, charged: 0 } },
    })
    gate.open()
    await expect
      .poll(() => getVideoStatus(model, { operation }))
      .toMatchObject({
        status: 'error',
        error: expect.stringMatching(/^The job made no video\. \(job job_\w+, charged 10\)$/),
      })
    await expect(getVideoStatus(model, { operation: 'x' })).rejects.toThrow('this is none that doStart returned')
  })
})
