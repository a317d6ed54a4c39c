// What is particular to providers that cost money: adoption, cancel, results that vanish, keys, and what is billed.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, OutcomeUnknown, Undelivered } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { failing, html, serveFake } from './fakes/fake.ts'
import { createFakeFal } from './fakes/fal.ts'
import { readMultipart } from './fakes/multipart.ts'
import { createFakeOpenai } from './fakes/openai.ts'
import { createFakeReplicate } from './fakes/replicate.ts'
import { secrets } from './kinds.ts'
import { createFastClock, type KeptRun, openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

const withKey = { token_env: 'KEY' }
const replicateSpec = (origin: string, more: Record<string, unknown> = {}) =>
  toSpec('replicate', `${origin}/v1`, { model: 'acme/picture', ...more }, withKey)
const falSpec = (origin: string, more: Record<string, unknown> = {}) =>
  toSpec('fal', origin, { model: 'fal-ai/flux/dev', ...more }, withKey)
const openaiSpec = (origin: string, more: Record<string, unknown>) => toSpec('openai', `${origin}/v1`, more, withKey)

describe('replicate', () => {
  test('two predictions that may be the job’s are reviewed, and one of another job is not adopted', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs })
    await using served = await serveFake(fake, failing(/^POST .*predictions$/, null, 'cut after'))
    const taken = new Set<string>()
    await using engine = openRemote('replicate', secrets, { ...clock, isTaken: async (_, id) => taken.has(id) })
    const start = async (jobId: string) => {
      await using run = await startKeptRun({ jobId })
      return await outcomeOf(engine.run(replicateSpec(served.origin), run))
    }
    expect(await start('job_1')).toHaveProperty('files')
    expect(await start('job_2')).toBeInstanceOf(OutcomeUnknown)
    taken.add('p0001')
    served.faults = failing(/^POST .*predictions$/, 'cut after')
    taken.add('p0002')
    expect(await start('job_3')).toHaveProperty('files')
    expect(fake.predictions).toHaveLength(3)
  })

  test('a prediction that may be another job’s is adopted when that no longer awaits its answer, two minutes later', async () => {
    const adoptedAfter = async (answeredAfterMs: number) => {
      const clock = createFastClock()
      const beganMs = clock.nowMs()
      const fake = createFakeReplicate({ nowMs: clock.nowMs })
      await using served = await serveFake(fake, failing(/^POST .*predictions$/, 'cut after'))
      const adopt = async () => clock.nowMs() - beganMs > answeredAfterMs
      await using engine = openRemote('replicate', secrets, { ...clock, adopt })
      await using run = await startKeptRun()
      return await outcomeOf(engine.run(replicateSpec(served.origin), run))
    }
    expect(await adoptedAfter(120_000)).toHaveProperty('files')
    expect(await adoptedAfter(150_000)).toBeInstanceOf(OutcomeUnknown)
  })

  test('a failed prediction is not taken for a later submission of the same job', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs, fails: 'Prediction interrupted; please retry (code: PA)' })
    await using served = await serveFake(fake)
    await using engine = openRemote('replicate', secrets, clock)
    await using first = await startKeptRun()
    const failed = await outcomeOf(engine.run(replicateSpec(served.origin), first))
    expect(failed).toMatchObject({ code: 'provider_failed', retryable: true })
    served.faults = failing(/^POST .*predictions$/, 'cut before')
    await using second = await startKeptRun({ checkpoint: first.saved.at(-1) ?? null })
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), second))).toBeInstanceOf(OutcomeUnknown)
    expect(second.saved[0]).toMatchObject({ state: 'submitting', n: 2, past: ['p0001'] })
  })

  test('a server that dies before it ends the job of a prediction that failed for good submits no other', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs, fails: 'NSFW content detected' })
    await using served = await serveFake(fake)
    await using engine = openRemote('replicate', secrets, clock)
    await using first = await startKeptRun()
    const final = { code: 'provider_failed', retryable: false }
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), first))).toMatchObject(final)
    await using second = await startKeptRun({ checkpoint: first.saved.at(-1) ?? null })
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), second))).toMatchObject(final)
    expect(fake.predictions).toHaveLength(1)
  })

  test('a review ends when the prediction is found later', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs })
    await using served = await serveFake(fake, failing(/predictions$/, 'cut after', html, html, html, html, html, html))
    await using engine = openRemote('replicate', secrets, clock)
    const spec = replicateSpec(served.origin)
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(spec, run))).toBeInstanceOf(OutcomeUnknown)
    served.faults = () => null
    const past = { jobId: run.jobId, model: run.model, checkpoint: run.saved.at(-1) ?? null, signal: run.signal }
    const known = await engine.reconcile?.(spec, past)
    expect(known).toMatchObject({ state: 'known', upstream: { upstreamId: 'p0001', verdict: 'accepted' } })
    await using next = await startKeptRun({ checkpoint: known?.state === 'known' ? known.checkpoint : null })
    expect(await outcomeOf(engine.run(spec, next))).toHaveProperty('files')
    expect(fake.predictions).toHaveLength(1)
  })

  test('a time limit that comes before the answer to a paid submission is no failure', async () => {
    const clock = createFastClock()
    await using served = await serveFake(createFakeReplicate({ nowMs: clock.nowMs }))
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    const spec = replicateSpec(served.origin)
    await outcomeOf(engine.run(spec, run))
    expect(run.saved.map((saved) => [(saved as JsonObject)['state'], engine.mayBePaid?.(spec, saved)])).toEqual([
      ['submitting', true],
      ['submitted', false],
      ['fetching', false],
    ])
    await using comfyui = openRemote('comfyui', secrets, clock)
    const free = { ...(run.saved[0] as JsonObject), provider: 'comfyui' }
    expect(comfyui.mayBePaid?.(toSpec('comfyui', served.origin), free)).toBe(false)
  })

  test('a run that ends while its submission is being saved sends nothing', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs })
    await using served = await serveFake(fake)
    await using engine = openRemote('replicate', secrets, clock)
    const startSlowly = async (whileSaving: (run: KeptRun) => unknown) => {
      await using run = await startKeptRun()
      const save = run.saveCheckpoint
      run.saveCheckpoint = async (value, upstream) => {
        await save(value, upstream)
        if (upstream?.verdict === 'submitting') await whileSaving(run)
      }
      const outcome = await outcomeOf(engine.run(replicateSpec(served.origin), run))
      expect(run.verdicts()).toEqual({ 1: 'refused' })
      return outcome
    }
    expect(await startSlowly((run) => run.abort.abort('timeout'))).toBe('timeout')
    expect(await startSlowly((run) => clock.pause(300_000, run.signal))).toMatchObject({ code: 'timeout' })
    expect(fake.predictions).toEqual([])
  })

  test('a run past its time is ended there, and looked at once more before', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs, polls: 1e9 })
    await using served = await serveFake(fake)
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(replicateSpec(served.origin, { timeout_seconds: 60 }), run))
    expect(outcome).toMatchObject({ code: 'timeout' })
    expect(fake.predictions[0]?.status).toBe('canceled')
    expect(run.records.at(-1)).toMatchObject({ verdict: 'canceled' })
    expect(clock.nowMs() - Date.UTC(2026, 0, 1)).toBeLessThan(75_000)
  })

  test('a film that ended while this server was down for hours is delivered all the same', async () => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs, polls: 0 })
    await using served = await serveFake(fake)
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    const save = run.saveCheckpoint
    run.saveCheckpoint = async (value, upstream) => {
      await save(value, upstream)
      if (upstream?.verdict === 'accepted') throw new Error('crash')
    }
    await outcomeOf(engine.run(replicateSpec(served.origin), run))
    await clock.pause(5 * 3_600_000, new AbortController().signal)
    await using next = await startKeptRun({ checkpoint: run.saved.at(-1) ?? null })
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), next))).toHaveProperty('files')
  })

  test('P196 outputs that vanish wait for the operator', async () => {
    const clock = createFastClock()
    await using served = await serveFake(createFakeReplicate({ nowMs: clock.nowMs, outputsVanish: true }))
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), run))).toBeInstanceOf(Undelivered)
    expect(run.records.at(-1)).toMatchObject({ verdict: 'succeeded', cost: { text: '1.5 s' } })
  })

  test('the key goes to the provider and to downloads from its origin alone', async () => {
    const clock = createFastClock()
    await using served = await serveFake(createFakeReplicate({ nowMs: clock.nowMs, token: secrets.KEY }))
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), run))).toHaveProperty('files')
    expect(served.log.find(({ method }) => method === 'POST')?.headers['cancel-after']).toBe('300s')
  })

  test('the line end of a key that was read from a file does no harm', async () => {
    const clock = createFastClock()
    await using served = await serveFake(createFakeReplicate({ nowMs: clock.nowMs, token: secrets.KEY }))
    await using engine = openRemote('replicate', { KEY: `${secrets.KEY}\r\n` }, clock)
    await using run = await startKeptRun()
    expect(await engine.unready(replicateSpec(served.origin))).toBeNull()
    expect(await outcomeOf(engine.run(replicateSpec(served.origin), run))).toHaveProperty('files')
  })

  test.each(['sk-first\nsk-second', 'sk-“quoted”'])('a key that no header carries is named: %j', async (key) => {
    const clock = createFastClock()
    await using served = await serveFake(createFakeReplicate({ nowMs: clock.nowMs, token: 'another' }))
    await using engine = openRemote('replicate', { KEY: key }, clock)
    const spec = replicateSpec(served.origin)
    const words =
      'a key that it needs cannot be sent: the environment variable KEY has a line end or another character that no HTTP header carries'
    expect(await engine.unready(spec)).toBe(words)
    const { provider } = spec as { provider?: object }
    expect(await engine.checkProvider?.(provider as never, 1000)).toMatchObject({ key: 'missing', reason: words })
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(spec, run))).toMatchObject({ code: 'provider_refused' })
    expect(run.verdicts()).toEqual({ 1: 'refused' })
  })

  test('a key that is missing is named, and one that is refused is not shown', async () => {
    const clock = createFastClock()
    await using served = await serveFake(createFakeReplicate({ nowMs: clock.nowMs, token: 'another' }))
    await using without = openRemote('replicate', {}, clock)
    expect(without.secretsOf?.(replicateSpec(served.origin))).toEqual(['KEY'])
    expect(await without.unready(replicateSpec(served.origin))).toBe(
      'a key that it needs is missing: the server has no environment variable KEY',
    )
    await using wrong = openRemote('replicate', secrets, clock)
    expect(await wrong.unready(replicateSpec(served.origin))).toBe(
      'replicate answered 401: You did not pass a valid token: Bearer [KEY]',
    )
  })
})

describe('fal', () => {
  test('its own URLs are used, not built ones, and what it bills is recorded', async () => {
    const fake = createFakeFal()
    await using served = await serveFake(fake)
    await using engine = openRemote('fal', secrets)
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(falSpec(served.origin), run))).toMatchObject({
      usage: { billable_units: 1, inference: 0.7 },
    })
    expect(served.requests()).toContain('GET /fal-ai/flux/requests/f1/status')
    expect(run.records.at(-1)?.cost).toEqual({ text: '1 units', amount: 1, currency: null })
  })

  test('an id from the webhook resolves an unknown outcome', async () => {
    const fake = createFakeFal()
    await using served = await serveFake(fake, failing(/^POST/, 'cut after'))
    const known = {
      findKnownId: async () => fake.queue[0]?.id ?? null,
      webhookOf: async () => 'https://media.test/hook/1',
    }
    await using engine = openRemote('fal', secrets, known)
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(falSpec(served.origin), run))).toHaveProperty('files')
    expect(fake.queue).toMatchObject([{ webhook: 'https://media.test/hook/1' }])
  })

  test('the reason of a failed run is shown', async () => {
    const fails = {
      detail: [{ loc: ['body', 'prompt'], msg: 'The prompt was flagged', type: 'content_policy_violation' }],
    }
    await using served = await serveFake(createFakeFal({ fails }))
    await using engine = openRemote('fal', secrets)
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(falSpec(served.origin), run))
    expect(outcome).toMatchObject({ code: 'provider_failed', message: 'fal: The prompt was flagged' })
    expect(run.records.at(-1)).toMatchObject({ verdict: 'failed', upstreamId: expect.any(String) })
  })
})

describe('openai', () => {
  test.each([
    ['gpt-image-1', undefined],
    ['flux', 'b64_json'],
  ])('%s is asked for base64 only if it takes the parameter', async (model, format) => {
    const clock = createFastClock()
    const fake = createFakeOpenai({ nowMs: clock.nowMs, answersUrls: model === 'flux' })
    await using served = await serveFake(fake)
    await using engine = openRemote('openai', secrets, clock)
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(openaiSpec(served.origin, { task: 'image', model }), run))
    expect(outcome).toMatchObject({ usage: { tokens: 30 } })
    expect(served.log[0]?.json).toEqual({ prompt: 'a boat', model, ...(format && { response_format: format }) })
    expect(run.downloads).toEqual([])
  })

  test('edits are sent as multipart with their pictures as files', async () => {
    const clock = createFastClock()
    const fake = createFakeOpenai({ nowMs: clock.nowMs })
    await using served = await serveFake(fake)
    await using engine = openRemote('openai', secrets, clock)
    await using run = await startKeptRun({ input: { prompt: 'blue', image: ['a', 'b'], n: 1 } })
    const file = join(await run.folder(), 'in.png')
    await writeFile(file, 'picture')
    const given = {
      ...run,
      media: async () =>
        new Map([
          ['/image/0', file],
          ['/image/1', file],
        ]),
    }
    expect(
      await outcomeOf(engine.run(openaiSpec(served.origin, { task: 'edit', model: 'gpt-image-1' }), given)),
    ).toHaveProperty('files')
    expect(fake.wrong).toEqual([])
    expect(readMultipart(served.log[0] ?? { headers: {}, body: Buffer.alloc(0) })).toEqual({
      model: 'gpt-image-1',
      prompt: 'blue',
      'image[]': ['file:image/png:7', 'file:image/png:7'],
      n: '1',
    })
  })

  test('an answer of 200 without a picture is paid for nothing: failed, and not sent again', async () => {
    const json = { created: 1, data: [], usage: { total_tokens: 30 } }
    const clock = createFastClock()
    const fake = createFakeOpenai({ nowMs: clock.nowMs })
    await using served = await serveFake(fake, failing(/^POST/, { status: 200, json }))
    await using engine = openRemote('openai', secrets, clock)
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(openaiSpec(served.origin, { task: 'image', model: 'flux' }), run))
    expect(outcome).toMatchObject({ code: 'provider_output_lost', retryable: false })
    expect(run.records.at(-1)).toMatchObject({ n: 1, verdict: 'succeeded', cost: { text: '30 tokens' } })
  })

  test('an answer that never ends is given up at the limit', async () => {
    const clock = createFastClock()
    const fake = createFakeOpenai({ nowMs: clock.nowMs })
    await using served = await serveFake(fake, failing(/^POST/, { status: 200, body: Buffer.alloc(2_000_000) }))
    await using engine = openRemote('openai', secrets, clock)
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(openaiSpec(served.origin, { task: 'image', model: 'flux' }), run))
    expect(outcome).toMatchObject({ code: 'provider_output_lost' })
    expect((outcome as Error).message).toContain('longer than 1000000 bytes')
  })
})

describe('fallback', () => {
  const fallback = (origin: string) => ({ fallback: [falSpec(origin)] })

  test.each([
    ['refuses for good', { status: 422, json: { detail: 'no' } }],
    ['lacks the money', { status: 402, json: { detail: 'no credit' } }],
  ])('the next one serves when the first %s', async (_, fault) => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs })
    const fal = createFakeFal()
    await using served = await serveFake(fake, failing(/^POST/, fault))
    await using other = await serveFake(fal)
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(replicateSpec(served.origin, fallback(other.origin)), run))).toHaveProperty(
      'files',
    )
    expect(run.records.at(-1)).toMatchObject({ n: 2, provider: 'fal', verdict: 'succeeded' })
    expect(fake.predictions).toHaveLength(0)
  })

  test('the next one serves when the first cannot be reached, and a run goes on there after a crash', async () => {
    await using gone = await serveFake(createFakeFal())
    await gone[Symbol.asyncDispose]()
    await using other = await serveFake(createFakeFal())
    await using engine = openRemote('replicate', secrets)
    const spec = replicateSpec(gone.origin, fallback(other.origin))
    await using run = await startKeptRun()
    const save = run.saveCheckpoint
    run.saveCheckpoint = async (value, upstream) => {
      await save(value, upstream)
      if (upstream?.verdict === 'accepted') throw new Error('crash')
    }
    await outcomeOf(engine.run(spec, run))
    await using next = await startKeptRun({ checkpoint: run.saved.at(-1) ?? null })
    expect(await outcomeOf(engine.run(spec, next))).toHaveProperty('files')
    expect(next.records.at(-1)).toMatchObject({ n: 2, provider: 'fal' })
  })

  test.each([301, 302, 303, 307, 308])('none is tried after an accepted run was answered with %i', async (status) => {
    const clock = createFastClock()
    const fake = createFakeReplicate({ nowMs: clock.nowMs })
    const fal = createFakeFal()
    const redirecting: typeof fake = {
      ...fake,
      async answer(request) {
        const answer = await fake.answer(request)
        return request.method === 'POST' ? { status, headers: { location: '/v1/predictions/p0001' } } : answer
      },
    }
    await using served = await serveFake(redirecting)
    await using other = await serveFake(fal)
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    // Replicate's list has it.
    expect(await outcomeOf(engine.run(replicateSpec(served.origin, fallback(other.origin)), run))).toHaveProperty(
      'files',
    )
    expect([fake.predictions.length, fal.queue.length]).toEqual([1, 0])
    expect(run.verdicts()).toEqual({ 1: 'succeeded' })
  })

  test('none is tried after something may have been accepted', async () => {
    const clock = createFastClock()
    const fal = createFakeFal()
    await using served = await serveFake(createFakeReplicate({ nowMs: clock.nowMs }), failing(/^POST/, 'cut before'))
    await using other = await serveFake(fal)
    await using engine = openRemote('replicate', secrets, clock)
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(replicateSpec(served.origin, fallback(other.origin)), run))
    expect(outcome).toBeInstanceOf(OutcomeUnknown)
    expect(fal.queue).toHaveLength(0)
  })
})
