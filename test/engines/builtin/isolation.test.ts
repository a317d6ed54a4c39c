// A render process that leaks, hangs, crashes, is killed, floods or fills the disk fails the one job that it has, in words and
// free of charge; the server answers all the while, and the next job runs.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuiltinEngine } from '../../../src/engines/builtin/engine.ts'
import { startTestApp, type TestApp } from '../../test-app.ts'

const model = 'test/stub/text-to-image'
let app: TestApp

beforeAll(async () => {
  const engine = createBuiltinEngine({
    entry: new URL('./misbehaving-child.ts', import.meta.url),
    poolSize: 1,
    maxChildRssBytes: 400_000_000,
    maxChildMs: 6000,
    maxOutputBytes: 30_000_000,
    warmUpAfterMs: null,
  })
  const settings = { MEDIAGEN_CATALOG: join(import.meta.dirname, 'models.yaml') }
  app = await startTestApp(settings, { engines: [engine] })
})
afterAll(() => app[Symbol.asyncDispose]())

test.each([
  ['leak', 'out_of_memory', /more than 400 MB of memory/, false],
  ['hang', 'timeout', /longer than 6 s/, true],
  ['crash', 'renderer_crashed', /ended unexpectedly \(exit status SIG(ABRT|TRAP)\)/, true],
  ['leave', 'renderer_crashed', /ended unexpectedly \(exit status 0\)/, true],
  ['kill', 'renderer_crashed', /ended unexpectedly \(exit status SIGKILL\)/, true],
  ['flood', 'renderer_crashed', /it sent more than \d+ bytes/, true],
  ['fill', 'output_too_large', /wrote more than 30000000 bytes/, false],
  ['throw', 'engine_crashed', /^The engine stopped unexpectedly\.$/, true],
])('%s', { timeout: 30_000 }, async (what, code, message, retryable) => {
  const [{ body: failed }, { body: next }, readiness] = await Promise.all([
    app.generate(model, { do: what }),
    app.generate(model, { do: 'work' }),
    app.send('/readyz', { key: null }),
  ])
  expect(failed).toMatchObject({
    status: 'failed',
    error: { code, message: expect.stringMatching(message), retryable },
    billing: { quoted: 7, charged: 0, released: 7 },
    outputs: [],
  })
  expect(next).toMatchObject({ status: 'succeeded', credits: 7 })
  expect(readiness.status).toBe(200)
})

const art = { model: 'builtin/image/art/text-to-image', input: { prompt: 'x', width: 2048, height: 2048 } }
const film = { model: 'builtin/video/motion/text-to-video', input: { prompt: 'x', duration: 30 } }

test.each([
  ['MEDIAGEN_CHILD_SECONDS', '1', film, 'timeout'],
  ['MEDIAGEN_CHILD_MEMORY_BYTES', '134217728', art, 'out_of_memory'],
  ['MEDIAGEN_MAX_OUTPUT_BYTES', '20000', art, 'output_too_large'],
])('%s bounds the built-in models', { timeout: 60_000 }, async (name, value, { model: id, input }, code) => {
  await using bounded = await startTestApp({ [name]: value })
  const { body: job } = await bounded.generate(id, input)
  expect(job).toMatchObject({ status: 'failed', error: { code }, billing: { charged: 0 } })
})
