// Remote models in a whole server, each over real connections to the fake of its provider: quote, start, output, charge, cancel,
// and no key anywhere (P24, P33).
import { execFileSync } from 'node:child_process'
import type { EngineSpec } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { runMain } from '../cli/run-main.ts'
import { storeSettings } from '../test-store.ts'
import { type Started, startServer } from './remote-fixture.ts'
import { createFakeComfyui } from './remote/fakes/comfyui.ts'
import { failing, type Faults, type ServedFake, serveFake } from './remote/fakes/fake.ts'
import { createFakeReplicate } from './remote/fakes/replicate.ts'
import { type KindCase, kindCases, secrets } from './remote/kinds.ts'

const pictures = kindCases.filter(({ title }) => !title.endsWith('speech'))

const toName = ({ title }: KindCase): string => title.replaceAll(/[^a-z]+/g, '-')

/** What providers say that they bill, as `jobs show` has it beside the credits; the others say nothing. */
const costs: Readonly<Record<string, string>> = {
  replicate: '1.5 s',
  fal: '1 units',
  'openai image': '30 tokens',
  'ai-sdk google image': '1300 tokens',
  'ai-sdk xai image': '0.02 USD',
  'ai-sdk xai video': '0.02 USD',
  'ai-sdk black-forest-labs image': '4 credits',
  'ai-sdk black-forest-labs video': '4 credits',
}

test('a job of every kind is quoted, made, stored and charged, and its key is nowhere', async () => {
  await using stack = new AsyncDisposableStack()
  const fakes: ServedFake[] = []
  const specs: Record<string, EngineSpec> = {}
  for (const one of pictures) {
    const served = stack.use(await serveFake(one.open(Date.now).fake))
    fakes.push(served)
    specs[toName(one)] = one.toSpec(served.origin)
  }
  const { app, lines } = stack.use(await startServer(specs))
  const jobs = await Promise.all(pictures.map((one) => app.generate(`test/${toName(one)}`, one.input)))
  for (const [index, { body }] of jobs.entries()) {
    expect
      .soft({ ...body, title: pictures[index]?.title })
      .toMatchObject({ status: 'succeeded', credits: 7, error: null, served_by: toName(pictures[index] as KindCase) })
    expect.soft((await fetch(body.outputs[0]?.url)).status).toBe(200)
  }
  const wallet = await app.send('/v1/wallet')
  expect(wallet.body).toEqual({ available: 1000 - 7 * pictures.length, held: 0 })
  const { dataDir } = app.config
  const env = { ...(await storeSettings(dataDir)), MEDIAGEN_DATA_DIR: dataDir, MEDIAGEN_CATALOG: '' }
  for (const [index, { body }] of jobs.entries()) {
    const { title = '' } = pictures[index] ?? {}
    const args = ['admin', 'jobs', 'show', body.job_id]
    const { stdout } = await runMain({ args: [...args, '--json'], cwd: app.folder, env })
    const { charged, upstream_runs: runs } = JSON.parse(stdout)
    expect.soft([title, charged, runs.at(-1).cost]).toEqual([title, 7, costs[title] ?? null])
    const printed = await runMain({ args, cwd: app.folder, env })
    expect.soft([title, printed.stdout.includes(`cost=${costs[title]}`)]).toEqual([title, title in costs])
  }
  const found = execFileSync('sh', ['-c', `grep -rlF "$KEY" "$FOLDER" || true`], {
    env: { ...process.env, KEY: secrets.KEY, FOLDER: app.folder },
    encoding: 'utf8',
  })
  expect(found).toBe('')
  expect(lines()).not.toContain(secrets.KEY)
})

test('a job of ComfyUI shows its progress and its drafts while it runs', async () => {
  const fake = createFakeComfyui({ polls: Infinity })
  await using served = await serveFake(fake)
  const one = kindCases.find(({ title }) => title === 'comfyui') as KindCase
  await using started = await startServer({ comfyui: one.toSpec(served.origin) })
  const { app } = started
  const { body: job } = await app.generate('test/comfyui', one.input, { wait: false })
  const read = async () => (await app.send(`/v1/jobs/${job.job_id}`)).body
  await expect.poll(read).toMatchObject({
    status: 'running',
    progress: expect.toSatisfy((progress: number) => progress > 0 && progress < 1),
    preview_url: expect.stringMatching(/\/assets\/job_.*signature=/),
  })
  const { preview_url: url } = await read()
  expect((await fetch(url)).headers.get('content-type')).toBe('image/webp')
  fake.finish()
  await expect.poll(read).toMatchObject({ status: 'succeeded', progress: 1, preview_url: null, outputs: [{}] })
})

async function startReplicate(
  options: Partial<Parameters<typeof createFakeReplicate>[0]>,
  faults: Faults = () => null,
  more: object = {},
): Promise<Started & { readonly fake: ReturnType<typeof createFakeReplicate>; readonly served: ServedFake }> {
  const [one] = kindCases as [KindCase]
  const fake = createFakeReplicate({ nowMs: Date.now, ...options })
  const served = await serveFake(fake, faults)
  const started = await startServer({ replicate: one.toSpec(served.origin) }, more)
  return {
    ...started,
    fake,
    served,
    async [Symbol.asyncDispose]() {
      await started[Symbol.asyncDispose]()
      await served[Symbol.asyncDispose]()
    },
  }
}

describe('a model of Replicate', () => {
  test('a failed run costs nothing and says why', async () => {
    await using remote = await startReplicate({ fails: 'NSFW content detected' })
    const { body } = await remote.app.generate('test/replicate', { prompt: 'x' })
    expect(body).toMatchObject({
      status: 'failed',
      credits: 0,
      error: { code: 'provider_failed', message: 'replicate: NSFW content detected' },
    })
  })

  test('an unknown outcome that cannot be found is reviewed, with the credits held', async () => {
    await using remote = await startReplicate({}, failing(/^POST .*predictions$/, 'cut before'))
    const { body } = await remote.app.generate('test/replicate', { prompt: 'x' })
    expect(body).toMatchObject({ status: 'needs_review', billing: { held: 7, charged: 0, released: 0 } })
    expect(remote.fake.predictions).toHaveLength(0)
  })

  test('a cancel answers at once, costs nothing, and ends the run there', async () => {
    await using remote = await startReplicate({ polls: 1e9 })
    const { body: job } = await remote.app.generate('test/replicate', { prompt: 'x' }, { wait: false })
    await expect.poll(() => remote.fake.predictions.length).toBe(1)
    const { body } = await remote.app.send(`/v1/jobs/${job.job_id}/cancel`, { method: 'POST' })
    expect(body.job_id).toBe(job.job_id)
    await expect.poll(() => remote.fake.predictions[0]?.status).toBe('canceled')
    const { body: ended } = await remote.app.send(`/v1/jobs/${job.job_id}`)
    expect(ended).toMatchObject({ status: 'canceled', credits: 0 })
  })

  test('a picture that is none was paid for, and waits for the operator', async () => {
    await using remote = await startReplicate({}, failing(/^GET \/delivery/, { status: 200, body: '<html>no</html>' }))
    const { body } = await remote.app.generate('test/replicate', { prompt: 'x' })
    expect(body).toMatchObject({ status: 'needs_review', billing: { held: 7 }, error: { code: 'output_invalid' } })
  })

  test('while it hangs, other models are served', async () => {
    const [one, , , , , comfyui] = kindCases as [KindCase, unknown, unknown, unknown, unknown, KindCase]
    await using hung = await serveFake(createFakeReplicate({ nowMs: Date.now, polls: 1e9 }))
    await using well = await serveFake(comfyui.open(Date.now).fake)
    await using server = await startServer({ replicate: one.toSpec(hung.origin), comfyui: comfyui.toSpec(well.origin) })
    for (let i = 0; i < 20; i++) await server.app.generate('test/replicate', { prompt: 'x' }, { wait: false })
    const { body } = await server.app.generate('test/comfyui', { prompt: 'x' })
    expect(body.status).toBe('succeeded')
  })
})

test('bytes of a package of the AI SDK that are no picture were paid for, and wait for the operator', async () => {
  const gemini = kindCases.find(({ title }) => title === 'ai-sdk google image') as KindCase
  const data = Buffer.from('<html>no</html>').toString('base64')
  const candidates = [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data } }] }, finishReason: 'STOP' }]
  await using served = await serveFake(
    gemini.open(Date.now).fake,
    failing(/^POST/, { status: 200, json: { candidates } }),
  )
  const spec = { ...gemini.toSpec(served.origin), defaults: { size: '64x64' } }
  await using server = await startServer({ gemini: spec })
  const { body } = await server.app.generate('test/gemini', { prompt: 'x' })
  // What the package leaves out is in the log.
  expect(server.lines()).toContain('does not support the `size` option')
  expect(body).toMatchObject({ status: 'needs_review', billing: { held: 7 }, error: { code: 'output_invalid' } })
})

test('of two equal jobs, the one whose submission never arrived does not take the run of the other', async () => {
  const fake = createFakeReplicate({ nowMs: Date.now, polls: 1 })
  const slow: typeof fake = {
    ...fake,
    async answer(request) {
      const answer = await fake.answer(request)
      // Long enough for the other one to look.
      if (request.method === 'POST') await new Promise((resolve) => setTimeout(resolve, 4000))
      return answer
    },
  }
  await using served = await serveFake(slow, failing(/^POST .*predictions$/, 'cut before'))
  const [one] = kindCases as [KindCase]
  await using server = await startServer({ replicate: one.toSpec(served.origin) })
  const started = [0, 1].map(() => server.app.generate('test/replicate', { prompt: 'same' }))
  const jobs = (await Promise.all(started)).map(({ body }) => body)
  expect(fake.predictions).toHaveLength(1)
  expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(['needs_review', 'succeeded']))
})

test('a price by usage is computed from what was made and from what the provider says', async () => {
  const [one] = kindCases as [KindCase]
  const fake = createFakeReplicate({ nowMs: Date.now })
  // What was delivered is counted here, whatever the provider says of it.
  const boasting: typeof fake = {
    ...fake,
    async answer(request) {
      const answer = await fake.answer(request)
      const { json } = answer as { json?: { metrics?: object } }
      return json?.metrics ? { ...answer, json: { ...json, metrics: { ...json.metrics, images: 9 } } } : answer
    },
  }
  await using served = await serveFake(boasting)
  const price = { at_most: 100, actual: 'usage.images * 10 + ceil(usage.predict_time) + ceil(usage.megapixels)' }
  await using server = await startServer({ replicate: one.toSpec(served.origin) }, { price })
  const { body } = await server.app.generate('test/replicate', { prompt: 'x' })
  // One picture of one pixel in 1.5 s.
  expect(body).toMatchObject({ status: 'succeeded', billing: { held: 100, charged: 13, released: 87 } })
})

test.each([
  ['--charge', 8, { status: 'succeeded', error: null, outputs: [{ content_type: 'image/png' }] }],
  ['--release', 0, { status: 'failed', error: { code: 'usage_unknown' }, outputs: [] }],
] as const)(
  'work of unknown usage is under review with its outputs kept, and jobs resolve %s ends that',
  async (option, charged, ended) => {
    await using remote = await startReplicate({}, undefined, { price: { at_most: 100, actual: 'ceil(usage.tokens)' } })
    const { app } = remote
    const { body: job } = await app.generate('test/replicate', { prompt: 'x' })
    expect(job).toMatchObject({
      status: 'needs_review',
      error: { code: 'usage_unknown', message: expect.stringContaining('usage') },
      billing: { held: 100, charged: 0, released: 0 },
      outputs: [],
    })
    const args = ['admin', 'jobs', 'resolve', job.job_id, option, ...(charged > 0 ? [String(charged)] : [])]
    const { dataDir } = app.config
    const env = { ...(await storeSettings(dataDir)), MEDIAGEN_DATA_DIR: dataDir, MEDIAGEN_CATALOG: '' }
    expect(await runMain({ args, cwd: app.folder, env })).toMatchObject({ status: 0 })
    const { body } = await app.send(`/v1/jobs/${job.job_id}`)
    expect(body).toMatchObject({ ...ended, billing: { charged, released: 100 - charged } })
    for (const { url } of body.outputs) expect((await fetch(url)).status).toBe(200)
    expect(remote.fake.predictions).toHaveLength(1)
  },
)

test('a price may say what missing usage costs', async () => {
  const price = { at_most: 100, actual: 'has(usage.tokens) ? ceil(usage.tokens) : 5' }
  await using remote = await startReplicate({}, undefined, { price })
  const { body } = await remote.app.generate('test/replicate', { prompt: 'x' })
  expect(body).toMatchObject({ status: 'succeeded', billing: { charged: 5, released: 95 } })
})

test('an answer beyond MEDIAGEN_MAX_PROVIDER_ANSWER_BYTES ends the job in words, with its credits back', async () => {
  const openai = kindCases.find(({ title }) => title === 'openai image') as KindCase
  const long = { status: 200, json: { created: 1, data: [{ b64_json: 'A'.repeat(70_000) }] } }
  await using served = await serveFake(openai.open(Date.now).fake, failing(openai.submission, long))
  const settings = { MEDIAGEN_MAX_PROVIDER_ANSWER_BYTES: '65536' }
  await using server = await startServer({ openai: openai.toSpec(served.origin) }, {}, settings)
  const { body } = await server.app.generate('test/openai', { prompt: 'x' })
  const message = expect.stringContaining('its answer is longer than 65536 bytes')
  expect(body).toMatchObject({ status: 'failed', credits: 0, error: { code: 'provider_output_lost', message } })
})
