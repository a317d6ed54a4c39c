// Providers that answer with nonsense, in a whole server: every job ends in words with its credits back, or under review where
// money may have been spent, and another model is served meanwhile. All jobs run at once.
import type { EngineSpec } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import { runMain } from '../cli/run-main.ts'
import { storeSettings } from '../test-store.ts'
import { startServer } from './remote-fixture.ts'
import { type FakeAnswer, type Fault, html, type ServedFake, serveFake } from './remote/fakes/fake.ts'
import { type KindCase, kindCases } from './remote/kinds.ts'

// Ends many of the jobs. One that a redirect ends is not to end by it, on however slow a machine.
const timeoutSeconds = 20
const longestSeconds = 600
const price = 5
const nonsense = Buffer.from('<html>no picture</html>')
const base64 = nonsense.toString('base64')

/** An answer of success whose file is none, of kinds whose files come in an answer. */
const noPictures: Readonly<Record<string, FakeAnswer>> = {
  'openai image': { status: 200, json: { created: 1, data: [{ b64_json: base64 }] } },
  'openai speech': { status: 200, headers: { 'content-type': 'audio/mpeg' }, body: nonsense },
  'ai-sdk google image': {
    status: 200,
    json: {
      candidates: [
        { content: { parts: [{ inlineData: { mimeType: 'image/png', data: base64 } }] }, finishReason: 'STOP' },
      ],
    },
  },
  'ai-sdk xai image': { status: 200, json: { data: [{ b64_json: base64 }] } },
  'ai-sdk elevenlabs speech': { status: 200, headers: { 'content-type': 'audio/mpeg' }, body: nonsense },
  cog: { status: 200, json: { status: 'succeeded', output: `data:image/png;base64,${base64}` } },
  'sd-server': { status: 200, json: { status: 'completed', result: { images: [{ b64_json: base64 }] } } },
}
const isFile = (request: string): boolean => /^GET (\/delivery|\/files|\/view|.*\/content$|.*:download$)/.test(request)

/** Whether a provider bills for what nobody got. */
const isPaid = ({ kind }: KindCase): boolean => ['replicate', 'fal', 'openai', 'ai-sdk'].includes(kind)

interface Trouble {
  readonly name: string
  /** What goes wrong with a request, `METHOD /path`; null passes it on. */
  fault(one: KindCase, request: string): Fault | null
}

const redirect: Fault = { status: 302, headers: { location: 'http://127.0.0.1:8080/private' } }
const afterwards = (one: KindCase, request: string, fault: Fault): Fault | null =>
  one.question !== null && one.submission.test(request) ? null : fault
/** Where the file or the answer with the file in it comes from. */
const ofFile = (one: KindCase, request: string, fault: Fault): Fault | null => {
  const known = noPictures[one.title]
  return known ? ((one.question ?? one.submission).test(request) ? fault : null) : isFile(request) ? fault : null
}

const troubles: readonly Trouble[] = [
  { name: 'html', fault: () => html },
  { name: 'html-later', fault: (one, request) => afterwards(one, request, html) },
  { name: 'redirect', fault: () => redirect },
  { name: 'redirect-later', fault: (one, request) => afterwards(one, request, redirect) },
  { name: 'redirected-file', fault: (one, request) => ofFile(one, request, redirect) },
  { name: 'ten-gigabytes', fault: (one, request) => afterwards(one, request, 'flood') },
  { name: 'ten-gigabyte-file', fault: (one, request) => ofFile(one, request, 'flood') },
  { name: 'never-answers', fault: (one, request) => afterwards(one, request, 'hang') },
  {
    name: 'never-ends',
    fault: (one, request) => (one.question?.test(request) ? { status: 200, json: {} } : one.question ? null : 'hang'),
  },
  {
    name: 'no-picture',
    fault: (one, request) => ofFile(one, request, noPictures[one.title] ?? { status: 200, body: nonsense }),
  },
  { name: 'vanishes', fault: (one, request) => afterwards(one, request, 'cut before') },
]

test('whatever providers answer, jobs end in words with their credits back, and hold up nobody', async () => {
  await using stack = new AsyncDisposableStack()
  const specs: Record<string, EngineSpec> = {}
  const cases: { one: KindCase; trouble: Trouble; name: string; served: ServedFake; submissions(): number }[] = []
  for (const one of kindCases)
    for (const trouble of troubles) {
      const name = `${one.title} ${trouble.name}`.replaceAll(/[^a-z]+/g, '-')
      const { fake, submissions } = one.open(Date.now)
      const served = stack.use(await serveFake(fake))
      const endsItself = trouble.name === 'redirect' && isPaid(one)
      specs[name] = { ...one.toSpec(served.origin), timeout_seconds: endsItself ? longestSeconds : timeoutSeconds }
      cases.push({ one, trouble, name, served, submissions })
    }
  const [healthy] = kindCases as [KindCase]
  specs['healthy'] = healthy.toSpec(stack.use(await serveFake(healthy.open(Date.now).fake)).origin)
  const { app } = stack.use(
    await startServer(
      specs,
      { price: { credits: price } },
      {
        MEDIAGEN_MAX_OUTPUT_BYTES: '1000000',
        MEDIAGEN_MAX_PROVIDER_ANSWER_BYTES: '1000000',
        // All of them start at once, on however slow a machine.
        MEDIAGEN_MAX_QUEUE_MS: '60000',
        // No run is lost, either.
        MEDIAGEN_LEASE_SECONDS: '600',
      },
    ),
  )
  // Not before, or their models are not ready.
  for (const { one, trouble, served } of cases)
    served.faults = ({ method, path }) => trouble.fault(one, `${method} ${path}`)
  const jobs = await Promise.all(
    cases.map(async ({ one, name }) => {
      const { status, body } = await app.generate(`test/${name}`, one.input, { wait: false })
      expect([name, status, body.detail]).toEqual([name, 202, undefined])
      return body.job_id as string
    }),
  )
  const began = performance.now()
  expect((await app.generate('test/healthy', { prompt: 'x' })).body.status).toBe('succeeded')
  const healthyMs = performance.now() - began
  const read = async (id: string) => (await app.send(`/v1/jobs/${id}`)).body
  let reviews = 0
  let unanswered = 0
  const table: string[] = []
  for (const [index, { one, trouble, name, served, submissions }] of cases.entries()) {
    const jobId = jobs[index] ?? ''
    await expect.poll(async () => (await read(jobId)).finished_at, { timeout: 120_000, interval: 200 }).not.toBeNull()
    const { status, error, billing, outputs } = await read(jobId)
    table.push(
      `${one.title.padEnd(26)} ${trouble.name.padEnd(18)} ${status.padEnd(13)} ${error?.code}: ${error?.message}`,
    )
    const paid = isPaid(one)
    expect
      .soft([name, paid ? ['failed', 'needs_review'] : ['failed']])
      .toEqual([name, expect.arrayContaining([status])])
    expect.soft([name, error.message]).toEqual([name, expect.stringMatching(/\.$/)])
    expect.soft([name, outputs]).toEqual([name, []])
    const held = status === 'needs_review'
    // The one request of a run that makes it wait for the work was sent, and never answered.
    if (
      paid &&
      !one.question &&
      trouble.name === 'never-answers' &&
      served.requests().some((request) => one.submission.test(request))
    ) {
      unanswered += 1
      expect.soft([name, held]).toEqual([name, true])
    }
    // A redirect may follow a run that was accepted.
    if (trouble.name === 'redirect') expect.soft([name, held]).toEqual([name, paid])
    expect.soft([name, billing]).toEqual([name, { quoted: price, held: price, charged: 0, released: held ? 0 : price }])
    if (paid) expect.soft([name, submissions()]).toEqual([name, expect.toSatisfy((count: number) => count <= 1)])
    if (held) reviews += 1
  }
  process.stdout.write(
    `${table.join('\n')}\n${cases.length} jobs, ${reviews} reviews; another model in ${Math.round(healthyMs)} ms\n`,
  )
  expect(unanswered).toBeGreaterThan(0)
  expect((await app.send('/v1/wallet')).body).toEqual({
    available: 1000 - price * (1 + reviews),
    held: price * reviews,
  })
  const { dataDir } = app.config
  const env = { ...(await storeSettings(dataDir)), MEDIAGEN_DATA_DIR: dataDir, MEDIAGEN_CATALOG: '' }
  expect(await runMain({ args: ['admin', 'ledger', 'verify'], cwd: app.folder, env })).toMatchObject({ status: 0 })
})
