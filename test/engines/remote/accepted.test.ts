// What a provider accepted is neither submitted again nor refunded, whatever it answers afterwards.
import { OutcomeUnknown } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { failing, serveFake } from './fakes/fake.ts'
import { createFakeReplicate } from './fakes/replicate.ts'
import { type KindCase, kindCases, secrets } from './kinds.ts'
import { createFastClock, openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

const replicateSpec = (origin: string) =>
  toSpec('replicate', `${origin}/v1`, { model: 'acme/picture' }, { token_env: 'KEY' })

describe('replicate', () => {
  test.each([
    ['Prediction interrupted; please retry (code: PA)', true],
    ['The input or output was flagged as sensitive. Please try again with different inputs. (E005)', false],
    ['Invalid image. Please retry with a smaller one.', false],
  ])('%s: may be submitted again is %s', async (fails, retryable) => {
    const clock = createFastClock()
    await using served = await serveFake(createFakeReplicate({ nowMs: clock.nowMs, fails }))
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(replicateSpec(served.origin), run))
    expect(outcome).toMatchObject({ code: 'provider_failed', retryable })
    expect(run.saved.at(-1)).toMatchObject({ state: retryable ? 'idle' : 'submitted' })
  })

  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const listed = (body: string) => ({ status: 200, headers: { 'content-type': 'application/json' }, body })
  test.each([
    ['an empty next page', '{"results":[],"next":""}'],
    ['a next page that is no URL', '{"results":[],"next":"http://["}'],
  ])('a list with %s leaves the accepted prediction under review', async (_, body) => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs })
    await using served = await serveFake(fake, ({ method, path }) =>
      path !== '/v1/predictions' && method === 'POST' ? 'cut after' : path === '/v1/predictions' ? listed(body) : null,
    )
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), run))).toBeInstanceOf(OutcomeUnknown)
    expect(run.verdicts()).toEqual({ 1: 'unknown' })
    expect(fake.predictions).toHaveLength(1)
  })

  test('an error of our own while an accepted prediction is looked for leaves it under review', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs })
    await using served = await serveFake(fake, failing(/^POST .*predictions$/, 'cut after'))
    const findKnownId = () => Promise.reject(new TypeError('a bug'))
    await using engine = openRemote('replicate', secrets, { ...clock, findKnownId })
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(replicateSpec(served.origin), run))
    expect(outcome).toBeInstanceOf(OutcomeUnknown)
    expect(String(outcome)).not.toContain('a bug')
  })

  test('a relative next page is read', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs })
    const first = listed('{"results":[],"next":"predictions?cursor=2"}')
    await using served = await serveFake(fake, ({ method, path, query }) =>
      path === '/v1/predictions' ? (query.has('cursor') ? null : first) : method === 'POST' ? 'cut after' : null,
    )
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), run))).toHaveProperty('files')
    expect(fake.predictions).toHaveLength(1)
  })

  test('an answer too deep to read says nothing about an accepted prediction', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs })
    const answer = listed(`{"status":"failed","error":${deep}}`)
    await using served = await serveFake(fake, failing(/^GET .*predictions\/p/, answer, answer))
    const warnings: string[] = []
    const onWarning = (provider: string, words: string) => void warnings.push(`${provider}: ${words}`)
    await using engine = openRemote('replicate', secrets, { ...clock, onWarning })
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), run))).toHaveProperty('files')
    expect(fake.predictions).toHaveLength(1)
    expect(warnings).toEqual([])
  })
})

describe('ai-sdk', () => {
  const moderated = { status: 200, json: { data: [{ url: 'https://x.test/a.png', respect_moderation: false }] } }
  const blocked = { candidates: [{ content: { parts: [] }, finishReason: 'IMAGE_SAFETY' }] }
  test.each([
    [
      'ai-sdk xai image',
      'provider_failed',
      'failed',
      { ...moderated, json: { ...moderated.json, usage: { cost_in_usd_ticks: 2e8 } } },
      { text: '0.02 USD', amount: 0.02, currency: 'USD' },
    ],
    ['ai-sdk xai image', 'provider_failed', 'failed', moderated, null],
    [
      'ai-sdk google image',
      'provider_output_lost',
      'succeeded',
      { status: 200, json: { ...blocked, usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 9 } } },
      { text: '12 tokens', amount: null, currency: null },
    ],
  ])('%s that was paid for nothing is on record, and not submitted again after a crash', async (...row) => {
    const [title, code, verdict, answer, cost] = row
    const one = kindCases.find((known) => known.title === title) as KindCase
    const clock = createFastClock()
    await using served = await serveFake(one.open(clock.nowMs).fake, failing(one.submission, answer, answer))
    await using engine = openRemote('ai-sdk', secrets, clock)
    await using run = await startKeptRun({ input: one.input })
    expect(await outcomeOf(engine.run(one.toSpec(served.origin), run))).toMatchObject({ code, retryable: false })
    expect(run.records.at(-1)).toMatchObject({ n: 1, verdict, cost })
    const checkpoint = run.saved.at(-1) ?? null
    expect(engine.afterLoss(one.toSpec(served.origin), checkpoint)).toBe('continue')
    await using next = await startKeptRun({ input: one.input, checkpoint })
    expect(await outcomeOf(engine.run(one.toSpec(served.origin), next))).toMatchObject({
      code: 'provider_output_lost',
      retryable: false,
    })
    expect(served.requests().filter((request) => one.submission.test(request))).toHaveLength(1)
  })
})
