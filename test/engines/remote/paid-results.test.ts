// What a paid run made is delivered: outputs are looked for where results have files, never in texts of the input, and what cannot be
// had is left out or waits for the operator (P195, P196).
import { EngineError, Undelivered } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { type FakeAnswer, type FakeUpstream, serveFake, tinyPng } from './fakes/fake.ts'
import { kindCases, secrets } from './kinds.ts'
import { createFastClock, openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

type Result = (origin: string) => { readonly json: object; readonly headers?: Record<string, string> }

/** A fal whose requests are done at once, with such a result. */
function createFal(result: Result, early: FakeAnswer[] = []): FakeUpstream {
  return {
    answer({ method, path, origin }) {
      if (path.startsWith('/files/')) return { status: 200, headers: { 'content-type': 'image/png' }, body: tinyPng }
      if (path.startsWith('/lost/')) return { status: 404, json: {} }
      if (method === 'POST') return { status: 200, json: { request_id: 'f1' } }
      if (path.endsWith('/status')) return { status: 200, json: { status: 'COMPLETED', request_id: 'f1' } }
      return early.shift() ?? { status: 200, ...result(origin) }
    },
  }
}

async function runFal(result: Result, input: Parameters<typeof startKeptRun>[0] = {}, early: FakeAnswer[] = []) {
  await using served = await serveFake(createFal(result, early))
  const warnings: string[] = []
  await using engine = openRemote('fal', secrets, {
    ...createFastClock(),
    onWarning: (_, words) => warnings.push(words),
  })
  await using run = await startKeptRun(input)
  const spec = toSpec('fal', served.origin, { model: 'fal-ai/flux/dev' }, { token_env: 'KEY' })
  const download = run.download
  run.download = async (url, file, options) => {
    if (!url.startsWith(served.origin) || url.includes('/lost/'))
      throw new EngineError('output_unavailable', `${new URL(url).pathname} is gone.`)
    return download(url, file, options)
  }
  const outcome = await outcomeOf(engine.run(spec, run))
  return { outcome, urls: run.downloads.map(({ url }) => new URL(url).pathname), warnings, records: run.records }
}

const file = (origin: string, name = 'a') => ({ url: `${origin}/files/${name}.png`, content_type: 'image/png' })

describe('fal', () => {
  const prompts = [
    'http://127.0.0.1/x a cat',
    'http://127.0.0.1/x',
    'data:image/png;base64,AAAA',
    'data:x;base64,A cat',
  ]
  test.each(prompts)('P195 a prompt that is repeated in the result is no output: %s', async (prompt) => {
    const result: Result = (origin) => ({
      json: { prompt, images: [file(origin)], output: prompt, extra: { text: prompt, url: prompt } },
      headers: { 'x-fal-billable-units': '2' },
    })
    const { outcome, urls, records } = await runFal(result, { input: { prompt } })
    expect(outcome).toMatchObject({ files: ['output-0'], usage: { billable_units: 2 } })
    expect(urls).toEqual(['/files/a.png'])
    expect(records.at(-1)).toMatchObject({ verdict: 'succeeded', cost: { amount: 2 } })
  })

  const shapes: [string, (origin: string) => object][] = [
    ['images[].url', (origin) => ({ images: [file(origin)] })],
    ['video.url', (origin) => ({ video: file(origin) })],
    ['audio.url', (origin) => ({ audio: file(origin) })],
    ['audio_file.url', (origin) => ({ audio_file: file(origin) })],
    ['model_mesh.url', (origin) => ({ model_mesh: file(origin) })],
    ['audio', (origin) => ({ audio: file(origin).url })],
    ['video_url', (origin) => ({ video_url: file(origin).url })],
    ['data.images[]', (origin) => ({ data: { images: [file(origin).url] } })],
  ]
  test.each(shapes)('a file at %s is an output', async (_, toJson) => {
    const { outcome, urls } = await runFal((origin) => ({ json: toJson(origin) }))
    expect(outcome).toMatchObject({ files: ['output-0'] })
    expect(urls).toEqual(['/files/a.png'])
  })

  test.each(['', 'many', '-1', '1, 2', 'NaN', '0x10'])('billed units of %j are unknown usage', async (units) => {
    const { outcome, records } = await runFal((origin) => ({
      json: { images: [file(origin)] },
      headers: { 'x-fal-billable-units': units },
    }))
    expect(outcome).toMatchObject({ files: ['output-0'], usage: {} })
    expect(outcome).not.toHaveProperty('usage.billable_units')
    expect(records.at(-1)).toMatchObject({ cost: null })
  })

  test('a result that is still in progress is asked for again', async () => {
    const early = { status: 400, json: { detail: 'Request is still in progress' } }
    const { outcome } = await runFal((origin) => ({ json: { images: [file(origin)] } }), {}, [early, early])
    expect(outcome).toHaveProperty('files')
  })

  test('P196 of several files those that can be had are delivered, and the operator is told of the others', async () => {
    const { outcome, warnings } = await runFal((origin) => ({
      json: { images: [file(origin), { url: `${origin}/lost/b.png` }, file(origin, 'c')] },
    }))
    expect(outcome).toMatchObject({ files: ['output-0', 'output-2'], made: 3 })
    expect(warnings).toEqual([expect.stringContaining('/lost/b.png is gone')])
  })

  test.each([
    ['no file can be had', (origin: string) => ({ images: [{ url: `${origin}/lost/b.png` }] })],
    ['there is none', () => ({ seed: 7 })],
  ])('P196 a paid run of which %s waits for the operator', async (_, toJson) => {
    const { outcome } = await runFal((origin) => ({ json: toJson(origin) }))
    expect(outcome).toBeInstanceOf(Undelivered)
    expect(String(outcome)).not.toContain('Nothing was charged')
  })
})

const said = {
  error: { message: 'The model is over its quota, sk-very-secret-0123456789, see https://a.test/x?key=1' },
}
const shown =
  /The model is over its quota, \[KEY\], see https:\/\/a\.test\/x$|The model is over its quota, \[KEY\], see https:\/\/a\.test\/x[.;]/

describe.each(kindCases)('$title', (one) => {
  test('the words of a success that holds an error and nothing else reach the job', async () => {
    const clock = createFastClock()
    const { fake } = one.open(clock.nowMs)
    await using served = await serveFake(fake, ({ method, path }) =>
      one.submission.test(`${method} ${path}`) ? { status: 200, json: said } : null,
    )
    await using engine = openRemote(one.kind, secrets, clock)
    await using run = await startKeptRun({ input: one.input })
    expect(String(await outcomeOf(engine.run(one.toSpec(served.origin), run)))).toMatch(shown)
  })
})
