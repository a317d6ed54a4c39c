// What is particular to packages of the AI SDK: what they may send, what they never see, what they say, and what they leave out.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type EngineError, type EngineSpec, type JsonObject, OutcomeUnknown } from '@mediagen/engine/engine.ts'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { packages } from '../../../src/engines/remote/backends/ai-sdk-packages.ts'
import { createFakeBfl, createFakeElevenlabs, createFakeGoogle, createFakeXai, type PaidFake } from './fakes/ai-sdk.ts'
import { failing, type Faults, serveFake, tinyPng } from './fakes/fake.ts'
import { kindCases, secrets } from './kinds.ts'
import { createFastClock, openRemote, outcomeOf, startKeptRun } from './remote-run.ts'

function specOf(name: string, task: string, origin: string, more: JsonObject = {}): EngineSpec {
  const found = kindCases.find(({ title }) => title === `ai-sdk ${name} ${task}`)
  if (!found) throw new Error(`there is no case of ${name} ${task}`)
  return { ...found.toSpec(origin), ...more }
}

interface Asked {
  readonly input?: JsonObject
  readonly media?: Readonly<Record<string, string>>
  readonly faults?: Faults
  readonly settings?: JsonObject
}

/** Makes one job on a fake. */
async function make(fake: PaidFake, name: string, task: string, asked: Asked = {}) {
  await using served = await serveFake(fake, asked.faults)
  const clock = createFastClock()
  const warnings: string[] = []
  await using engine = openRemote('ai-sdk', secrets, {
    ...clock,
    onWarning: (provider, words) => warnings.push(`${provider}: ${words}`),
  })
  await using run = await startKeptRun({ input: { prompt: 'a boat', ...asked.input } })
  const media = new Map<string, string>()
  for (const [pointer, name] of Object.entries(asked.media ?? {})) {
    const file = join(await run.folder(), name)
    media.set(pointer, file)
    await writeFile(file, tinyPng)
  }
  const spec = specOf(name, task, served.origin, asked.settings)
  const outcome = await outcomeOf(engine.run(spec, { ...run, media: async () => media }))
  const body = served.log.find(({ method }) => method === 'POST')?.json as JsonObject | undefined
  return { outcome, run, body, log: served.log, warnings, waited: clock.nowMs() - createFastClock().nowMs() }
}

const picture = (file: string) => ({ [`/${file}`]: `${file}.png` })
const base64 = tinyPng.toString('base64')

describe('what is sent', () => {
  test('the package gets another key than ours, and URLs that it signs with it are not kept', async () => {
    const { outcome, run, log } = await make(createFakeGoogle({ token: secrets.KEY }), 'google', 'video')
    expect(outcome).toHaveProperty('files')
    expect(log.every(({ headers }) => headers['x-goog-api-key'] === secrets.KEY)).toBe(true)
    expect(run.downloads).toEqual([
      { url: expect.stringMatching(/:download\?alt=media$/), headers: { 'x-goog-api-key': secrets.KEY } },
    ])
    expect(JSON.stringify([run.saved, run.records, run.downloads.map(({ url }) => url)])).not.toMatch(
      /sk-|sends-the-key/,
    )
  })

  test('a package that asks for a second paid request gets none', async () => {
    const fake = createFakeGoogle({ finish: 'CONTINUATION' })
    const { outcome, run, log } = await make(fake, 'google', 'image')
    expect(fake.paid).toBe(1)
    expect(log.filter(({ method }) => method === 'POST')).toHaveLength(1)
    expect(outcome).toMatchObject({ code: 'provider_output_lost', message: expect.stringContaining('another paid') })
    expect(run.verdicts()).toEqual({ 1: 'succeeded' })
  })

  test.each([
    [
      'an option that the package refuses',
      'black-forest-labs',
      'image',
      { guidance: 'much' },
      'Nothing was sent to ai-sdk',
    ],
    ['more than it makes in one run', 'google', 'image', { n: 2 }, 'ai-sdk makes at most 1 in one run, and n is 2'],
    ['a voice that is a path', 'elevenlabs', 'speech', { text: 'x', voice: '../history' }, 'voice must be an id'],
    ['a voice with a query', 'elevenlabs', 'speech', { text: 'x', voice: 'a?b=c' }, 'voice must be an id'],
  ])('%s is refused before anything is sent', async (_, name, task, input, words) => {
    const fake =
      name === 'google' ? createFakeGoogle() : name === 'elevenlabs' ? createFakeElevenlabs() : createFakeBfl()
    const { outcome, log } = await make(fake, name, task, { input })
    expect(outcome).toMatchObject({ code: 'provider_refused', retryable: false })
    expect((outcome as EngineError).message).toContain(words)
    expect(log).toEqual([])
  })

  test('fields of the SDK are mapped, all others are options of the package', async () => {
    const { body } = await make(createFakeBfl(), 'black-forest-labs', 'image', {
      input: { aspectRatio: '16:9', outputFormat: 'png', seed: 7 },
      settings: { defaults: { safetyTolerance: 2, providerOptions: { promptUpsampling: true } } },
      media: { ...picture('image'), ...picture('other') },
    })
    expect(body).toEqual({
      prompt: 'a boat',
      aspect_ratio: '16:9',
      seed: 7,
      output_format: 'png',
      safety_tolerance: 2,
      prompt_upsampling: true,
      input_image: base64,
      input_image_2: base64,
    })
  })

  test('a mask, and the frames and references of a film, are sent as such', async () => {
    const inpaint = await make(createFakeBfl(), 'black-forest-labs', 'image', {
      media: { ...picture('image'), ...picture('mask') },
    })
    expect(inpaint.body).toMatchObject({ input_image: base64, mask: base64 })
    const frames = await make(createFakeGoogle(), 'google', 'video', {
      input: { duration: 8, negativePrompt: 'rain' },
      media: { ...picture('image'), ...picture('lastFrame') },
    })
    const sent = { bytesBase64Encoded: base64, mimeType: 'image/png' }
    expect(frames.body).toEqual({
      instances: [{ prompt: 'a boat', image: sent, lastFrame: sent }],
      parameters: { sampleCount: 1, durationSeconds: 8, negativePrompt: 'rain' },
    })
    const references = await make(createFakeXai(), 'xai', 'video', { media: { '/references/0': 'a.png' } })
    expect(references.body).toMatchObject({ reference_images: [{ url: `data:image/png;base64,${base64}` }] })
  })

  test('speech goes to base_url, though its package knows one place alone', async () => {
    const { outcome, log } = await make(createFakeElevenlabs(), 'elevenlabs', 'speech', {
      input: {
        text: 'hello',
        voice: 'JBFqnCBsd6RMkjVDRZzb',
        outputFormat: 'mp3_64',
        voiceSettings: { stability: 0.5 },
      },
    })
    expect(outcome).toHaveProperty('files')
    const [request] = log
    expect(request?.path).toBe('/v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb')
    expect(request?.query.get('output_format')).toBe('mp3_44100_64')
    expect(request?.json).toEqual({
      text: 'hello',
      model_id: 'eleven_multilingual_v2',
      voice_settings: { stability: 0.5 },
    })
  })
})

describe('what comes back', () => {
  test.each([
    ['xai', 'image', createFakeXai(), { text: '0.02 USD', amount: 0.02, currency: 'USD' }],
    ['xai', 'video', createFakeXai(), { text: '0.02 USD', amount: 0.02, currency: 'USD' }],
    ['black-forest-labs', 'image', createFakeBfl(), { text: '4 credits', amount: 4, currency: null }],
    ['black-forest-labs', 'video', createFakeBfl(), { text: '4 credits', amount: 4, currency: null }],
    ['google', 'image', createFakeGoogle(), { text: '1300 tokens', amount: null, currency: null }],
  ])('what %s bills for a %s is recorded', async (name, task, fake, cost) => {
    const { outcome, run } = await make(fake, name, task)
    expect(outcome).toHaveProperty('files')
    expect(run.records.at(-1)).toMatchObject({ verdict: 'succeeded', cost })
    if (name === 'google')
      expect(outcome).toMatchObject({ usage: { tokens: 1300, input_tokens: 10, output_tokens: 1290 } })
  })

  test('pictures at URLs are downloaded like all others, not by the package', async () => {
    const { outcome, run } = await make(createFakeXai({ answersUrls: true }), 'xai', 'image', { input: { n: 2 } })
    expect(outcome).toMatchObject({ files: ['output-0', 'output-1'] })
    expect(run.downloads.map(({ url }) => new URL(url).pathname)).toEqual(['/files/1.png', '/files/1.png'])
  })

  test('what the package leaves out of a request is told to the operator', async () => {
    const { warnings } = await make(createFakeXai(), 'xai', 'video', { input: { fps: 24 } })
    expect(warnings).toEqual([expect.stringMatching(/^ai-sdk: .*custom FPS/)])
  })

  const reasons: [string, string, PaidFake, RegExp][] = [
    ['google', 'video', createFakeGoogle({ fails: 'a real person' }), /a real person/],
    ['xai', 'image', createFakeXai({ fails: 'x' }), /content policy/],
    ['xai', 'video', createFakeXai({ fails: 'out of luck' }), /out of luck/],
    [
      'black-forest-labs',
      'image',
      createFakeBfl({ fails: 'nudity', failedStatus: 'Request Moderated' }),
      /Request Moderated.*nudity/,
    ],
    [
      'black-forest-labs',
      'image',
      createFakeBfl({ fails: 'copies', failedStatus: 'Content Moderated' }),
      /Content Moderated.*copies/,
    ],
    ['black-forest-labs', 'video', createFakeBfl({ fails: 'broken' }), /broken/],
  ]
  test.each(reasons)(
    'a %s %s that is refused while it is made ends soon, with the reason',
    async (name, task, fake, words) => {
      const { outcome, run, waited } = await make(fake, name, task)
      expect(outcome).toMatchObject({ code: 'provider_failed', retryable: false })
      expect((outcome as EngineError).message).toMatch(words)
      expect(run.verdicts()).toEqual({ 1: 'failed' })
      expect(waited).toBeLessThan(60_000)
    },
  )

  test('a task that Black Forest Labs do not find is asked for again, for it is paid', async () => {
    const lost = { status: 200, json: { id: 'r1', status: 'Task not found', result: null } }
    const fake = createFakeBfl()
    const { outcome } = await make(fake, 'black-forest-labs', 'image', { faults: failing(/get_result/, lost, lost) })
    expect(outcome).toHaveProperty('files')
    expect(fake.paid).toBe(1)
  })

  test('an answer without a picture is paid for nothing, and says why', async () => {
    const { outcome } = await make(createFakeGoogle({ finish: 'IMAGE_SAFETY' }), 'google', 'image')
    expect(outcome).toMatchObject({ code: 'provider_output_lost', message: expect.stringContaining('IMAGE_SAFETY') })
  })

  const blocking = kindCases.filter(({ kind, question }) => kind === 'ai-sdk' && question === null)
  test.each(blocking)(
    'an answer of $title that is too long is given up at the limit',
    async ({ title, submission, open, input }) => {
      const [, name = '', task = ''] = title.split(' ')
      const long = failing(submission, { status: 200, body: Buffer.alloc(2_000_000) })
      const { outcome } = await make(open(Date.now).fake as PaidFake, name, task, { input, faults: long })
      expect(outcome).toMatchObject({ code: 'provider_output_lost', message: expect.stringContaining('1000000 bytes') })
    },
  )

  const polled = kindCases.filter(({ kind, question }) => kind === 'ai-sdk' && question !== null)
  test.each(polled)(
    'a submission of $title whose answer is too long is reviewed',
    async ({ title, submission, open }) => {
      const [, name = '', task = ''] = title.split(' ')
      const long = failing(submission, { status: 200, body: Buffer.alloc(5_000_000) })
      const { outcome, log } = await make(open(Date.now).fake as PaidFake, name, task, { faults: long })
      expect(outcome).toBeInstanceOf(OutcomeUnknown)
      expect(log.filter(({ method }) => method === 'POST')).toHaveLength(1)
    },
  )

  test.each(blocking)('an answer of $title that never ends is reviewed', async ({ title, submission, open, input }) => {
    const [, name = '', task = ''] = title.split(' ')
    const settings = { timeout_seconds: 1 }
    const faults = failing(submission, 'endless')
    const { outcome } = await make(open(Date.now).fake as PaidFake, name, task, { input, faults, settings })
    expect(outcome).toBeInstanceOf(OutcomeUnknown)
  })
})

describe('whether it is ready', () => {
  afterEach(() => {
    vi.doUnmock('@ai-sdk/xai')
    vi.restoreAllMocks()
  })

  const toRemedy = (name: string, version: string): string =>
    `install @ai-sdk/${name}@${version}, as docs/backends/ai-sdk.md says, and start the server again`

  async function ask(fake: PaidFake, name: string, task: string, faults?: Faults): Promise<string | null> {
    await using served = await serveFake(fake, faults)
    await using engine = openRemote('ai-sdk', secrets)
    return await engine.unready(specOf(name, task, served.origin))
  }

  test.each([
    [
      'google',
      'image',
      createFakeGoogle({ token: 'x' }),
      'ai-sdk answered 400: API key not valid. Please pass a valid API key.',
    ],
    ['xai', 'image', createFakeXai({ token: 'x' }), 'ai-sdk answered 400: Incorrect API key provided: Bearer [KEY]'],
    ['elevenlabs', 'speech', createFakeElevenlabs({ token: 'x' }), 'ai-sdk answered 401: Invalid API key'],
  ])('a wrong key of %s is told, and not shown', async (name, task, fake, words) => {
    expect(await ask(fake, name, task)).toBe(words)
  })

  test('a key of ElevenLabs that may do nothing but speak is enough', async () => {
    const message = 'The API key you used is missing the permission user_read to execute this operation.'
    const refusal = { status: 401, json: { detail: { status: 'missing_permissions', message } } }
    expect(await ask(createFakeElevenlabs(), 'elevenlabs', 'speech', failing(/user/, refusal))).toBeNull()
  })

  test.each(Object.entries(packages))(
    'a missing package for %s is named, and nothing is asked',
    async (name, { version, tasks }) => {
      const load = packages[name] as { load(): Promise<unknown> }
      vi.spyOn(load, 'load').mockRejectedValue(Object.assign(new Error('no'), { code: 'ERR_MODULE_NOT_FOUND' }))
      const said = await ask(createFakeBfl(), name, tasks[0] ?? '', failing(/./, { status: 500 }))
      expect(said).toBe(`the package @ai-sdk/${name} is not installed: ${toRemedy(name, version)}`)
    },
  )

  test('a package of another time names the one that works', async () => {
    vi.doMock('@ai-sdk/xai', () => ({ createXai: () => ({ image: () => ({ specificationVersion: 'v5' }) }) }))
    expect(await ask(createFakeXai(), 'xai', 'image')).toBe(
      `the package @ai-sdk/xai, as it is installed, has version v5 of its interface: ${toRemedy('xai', '5.0.12')}`,
    )
  })

  test('the versions that are named are those that these tests ran on', async () => {
    const { default: manifest } = await import('../../packages/package.json', { with: { type: 'json' } })
    const tested = Object.entries(packages).map(([name, { version }]) => [`@ai-sdk/${name}`, version])
    expect(manifest.dependencies).toMatchObject(Object.fromEntries(tested))
  })
})
