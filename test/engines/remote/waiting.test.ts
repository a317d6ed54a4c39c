// What remote runs wait for, and for how long: a place at their provider, files that are not there yet, the end of their time.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ClaimLost, EngineError } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { createThrottle, type Throttle } from '../../../src/engines/remote/throttle.ts'
import { failing, type Faults, serveFake } from './fakes/fake.ts'
import { createFakeOpenai } from './fakes/openai.ts'
import { createFakeReplicate } from './fakes/replicate.ts'
import { secrets } from './kinds.ts'
import { abandonRun, createFastClock, type KeptRun, openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

const startMs = createFastClock().nowMs()
const withUrls = { task: 'image', model: 'flux', defaults: { response_format: 'url' } }
const submission = /^POST .*predictions$/

/** A throttle with room for all, and the jobs that it counts. */
function createSlots(): { readonly held: Set<string>; readonly throttle: Throttle } {
  const held = new Set<string>()
  const throttle: Throttle = {
    enter: async (_, jobId) => void held.add(jobId),
    leave: async (_, jobId) => void held.delete(jobId),
    pause: async () => {},
  }
  return { held, throttle }
}

const away = () => Promise.reject(new Error('the store is away'))
/** A store that went away after a run had entered. */
const storeAway = { enterProvider: async () => 0, leaveProvider: away, pauseProvider: away }

/** A Replicate whose runs may last a minute. */
async function startReplicate(settings: Partial<Parameters<typeof createFakeReplicate>[0]> = {}, faults?: Faults) {
  const clock = createFastClock()
  const fake = createFakeReplicate({ nowMs: clock.nowMs, ...settings })
  const served = await serveFake(fake, faults)
  const places = createSlots()
  const engine = openRemote('replicate', secrets, { ...clock, throttle: places.throttle })
  const model = { model: 'acme/picture', timeout_seconds: 60 }
  return {
    clock,
    fake,
    served,
    engine,
    ...places,
    spec: toSpec('replicate', `${served.origin}/v1`, model, { token_env: 'KEY' }),
    async [Symbol.asyncDispose]() {
      await engine.close()
      await served[Symbol.asyncDispose]()
    },
  }
}

function pastOf(run: KeptRun) {
  return {
    jobId: run.jobId,
    model: run.model,
    checkpoint: run.saved.at(-1) ?? null,
    signal: new AbortController().signal,
  }
}

describe('a place at a provider is free', () => {
  const noFiles = { status: 200, json: { status: 'succeeded', output: null } }

  test.each([
    ['has no files', { code: 'provider_no_output' }, { polls: 0 }, failing(/^GET .*predictions\/p/, noFiles)],
    ['has files that vanished', { code: 'download_failed' }, { outputsVanish: true }, undefined],
  ])('after a success that %s', async (_, error, settings, faults) => {
    await using remote = await startReplicate(settings, faults)
    await using run = await startKeptRun()
    expect(await outcomeOf(remote.engine.run(remote.spec, run))).toMatchObject({ name: 'Undelivered', cause: error })
    expect(remote.held.size).toBe(0)
  })

  test('while files are fetched', async () => {
    await using remote = await startReplicate()
    await using run = await startKeptRun()
    const download = run.download
    const held: number[] = []
    run.download = (...args) => (held.push(remote.held.size), download(...args))
    await outcomeOf(remote.engine.run(remote.spec, run))
    expect(held).toEqual([0])
  })

  test.each(['submitting', 'succeeded'])('when the job was ended before the run reports “%s”', async (verdict) => {
    await using remote = await startReplicate()
    await using run = await startKeptRun()
    run.saveCheckpoint = async (_, upstream) => {
      if (upstream?.verdict === verdict) throw new ClaimLost()
    }
    expect(await outcomeOf(remote.engine.run(remote.spec, run))).toBeInstanceOf(ClaimLost)
    expect(remote.held.size).toBe(0)
  })

  test('in the transaction that records the success', async () => {
    await using remote = await startReplicate()
    await using run = await startKeptRun()
    const held: number[] = []
    run.saveCheckpoint = async (_, upstream) => {
      // What is asked of the store in one turn of the event loop is one transaction.
      await Promise.resolve()
      if (upstream?.verdict === 'succeeded') held.push(remote.held.size)
    }
    await outcomeOf(remote.engine.run(remote.spec, run))
    expect(held).toEqual([0])
  })

  test('when a blocking success cannot be fetched', async () => {
    const clock = createFastClock()
    await using served = await serveFake(createFakeOpenai({ nowMs: clock.nowMs, answersUrls: true }))
    const { held, throttle } = createSlots()
    await using engine = openRemote('openai', secrets, { ...clock, throttle })
    await using run = await startKeptRun()
    run.download = () => Promise.reject(new EngineError('output_unavailable', 'it is too large'))
    const spec = toSpec('openai', `${served.origin}/v1`, withUrls, { token_env: 'KEY' })
    expect(await outcomeOf(engine.run(spec, run))).toMatchObject({ name: 'Undelivered' })
    expect(held.size).toBe(0)
  })

  test('not while a canceled run may go on there, but once it was ended there', async () => {
    await using remote = await startReplicate({ polls: 1e9 })
    await using run = await startKeptRun()
    const past = await abandonRun(remote.engine, remote.spec, run)
    expect(remote.held.size).toBe(1)
    await remote.engine.cancel?.(remote.spec, past)
    expect(remote.held.size).toBe(0)
  })

  test.each(['cancel', 'reconcile'] as const)('once a %s finds that a free run was never submitted', async (ask) => {
    const { held, throttle } = createSlots()
    await using engine = openRemote('sd-server', {}, { throttle })
    await using served = await serveFake({ answer: () => ({ status: 200, json: {} }) })
    const spec = toSpec('sd-server', served.origin)
    await using run = await startKeptRun()
    held.add(run.jobId)
    const note = {
      v: 1,
      state: 'submitting',
      at: 0,
      provider: 'sd-server',
      n: 1,
      key: 'k',
      since: 1,
      ref: null,
      past: [],
    }
    await engine[ask]?.(spec, { ...pastOf(run), checkpoint: note })
    expect(held.size).toBe(0)
  })
})

describe('a success that was paid is delivered', () => {
  async function startOpenai(throttle: Throttle) {
    const clock = createFastClock()
    const served = await serveFake(createFakeOpenai({ nowMs: clock.nowMs }))
    const engine = openRemote('openai', secrets, { ...clock, throttle })
    return {
      engine,
      spec: toSpec('openai', `${served.origin}/v1`, { task: 'image', model: 'flux' }, { token_env: 'KEY' }),
      async [Symbol.asyncDispose]() {
        await engine.close()
        await served[Symbol.asyncDispose]()
      },
    }
  }

  test('also while the store that counts runs at providers is away', async () => {
    await using remote = await startOpenai(createThrottle(storeAway, async () => {}))
    await using run = await startKeptRun()
    expect(await outcomeOf(remote.engine.run(remote.spec, run))).toHaveProperty('files')
    expect(run.verdicts()).toEqual({ 1: 'succeeded' })
  })

  test.each([
    ['EMFILE', 1],
    ['ENOSPC', 4],
  ])('also if no file can be made at first (%s)', async (code, failures) => {
    await using remote = await startOpenai(createSlots().throttle)
    await using run = await startKeptRun()
    const { folder } = run
    let opened = 0
    run.folder = async () => {
      if ((opened += 1) <= failures) throw Object.assign(new Error('no file now'), { code, syscall: 'open' })
      return folder()
    }
    expect(await outcomeOf(remote.engine.run(remote.spec, run))).toHaveProperty('files')
    expect(run.verdicts()).toEqual({ 1: 'succeeded' })
  })

  test('as long as the time of its model lasts, and is given up for good then', async () => {
    await using remote = await startOpenai(createSlots().throttle)
    await using run = await startKeptRun()
    run.folder = () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC', syscall: 'mkdir' }))
    const end = await outcomeOf(remote.engine.run(remote.spec, run))
    expect(end).toMatchObject({ name: 'Undelivered', cause: { code: 'output_not_stored' } })
    expect(run.verdicts()).toEqual({ 1: 'succeeded' })
  })
})

test('a provider that asks to wait is waited for, also while the store that shares pauses is away', async () => {
  const slowDown = { status: 429, headers: { 'retry-after': '1' }, json: { detail: 'slow down' } }
  const clock = createFastClock()
  const fake = createFakeReplicate({ nowMs: clock.nowMs })
  await using served = await serveFake(fake, failing(/predictions/, slowDown, null, slowDown))
  await using engine = openRemote('replicate', secrets, { ...clock, throttle: createThrottle(storeAway, clock.pause) })
  await using run = await startKeptRun()
  const spec = toSpec('replicate', `${served.origin}/v1`, { model: 'acme/picture' }, { token_env: 'KEY' })
  expect(await outcomeOf(engine.run(spec, run))).toHaveProperty('files')
  expect(fake.predictions).toHaveLength(1)
})

describe('time', () => {
  test('of a first turn at the provider is waited for outside of the model’s, and of a later one within it', async () => {
    const busy = { status: 429, headers: { 'retry-after': '1' }, json: { detail: 'slow down' } }
    await using remote = await startReplicate({}, failing(submission, busy))
    await using run = await startKeptRun()
    const enter = remote.throttle.enter
    remote.throttle.enter = async (...args) => {
      await remote.clock.pause(600_000, args[3])
      await enter(...args)
    }
    let turns = 0
    run.waiting = (turn) => (turns++, turn)
    expect(await outcomeOf(remote.engine.run(remote.spec, run))).toMatchObject({ code: 'timeout' })
    expect(turns).toBe(1)
    // Refused the first time, and too late for the second.
    expect(remote.served.requests().filter((request) => submission.test(request))).toHaveLength(1)
    expect(remote.held.size).toBe(0)
  })

  test('is left for files that come late', async () => {
    const gone = { status: 404, body: 'not yet' }
    await using remote = await startReplicate(
      { polls: 0 },
      failing(/^GET \/delivery/, gone, gone, gone, gone, gone, gone),
    )
    await using run = await startKeptRun()
    expect(await outcomeOf(remote.engine.run(remote.spec, run))).toHaveProperty('files')
    expect(remote.clock.nowMs() - startMs).toBeLessThan(60_000)
  })

  test('ends the wait for files that never come', async () => {
    await using remote = await startReplicate({ outputsVanish: true })
    await using run = await startKeptRun()
    expect(await outcomeOf(remote.engine.run(remote.spec, run))).toMatchObject({ name: 'Undelivered' })
    const tookMs = remote.clock.nowMs() - startMs
    expect([tookMs > 50_000, tookMs <= 60_000]).toEqual([true, true])
    expect(run.verdicts()).toEqual({ 1: 'succeeded' })
    expect(remote.served.requests().some((request) => request.endsWith('/cancel'))).toBe(false)
  })

  test('is left for files that came with the answer', async () => {
    const clock = createFastClock()
    await using served = await serveFake(createFakeOpenai({ nowMs: clock.nowMs, answersUrls: true }))
    await using engine = openRemote('openai', secrets, clock)
    await using run = await startKeptRun()
    let tries = 0
    run.download = async (_, file) => {
      if ((tries += 1) <= 6) throw new EngineError('output_unavailable', 'not yet', true)
      await writeFile(join(await run.folder(), file), 'x')
      return { bytes: 1, contentType: null }
    }
    const spec = toSpec('openai', `${served.origin}/v1`, withUrls, { token_env: 'KEY' })
    expect(await outcomeOf(engine.run(spec, run))).toHaveProperty('files')
  })

  test('that ends as the run does loses nothing', async () => {
    await using remote = await startReplicate({ polls: 1e9 })
    remote.served.faults = ({ path }) => {
      const [one] = remote.fake.predictions
      if (one && path.endsWith('/cancel')) one.status = 'succeeded'
      return null
    }
    await using run = await startKeptRun()
    expect(await outcomeOf(remote.engine.run(remote.spec, run))).toHaveProperty('files')
    expect(run.verdicts()).toEqual({ 1: 'succeeded' })
  })
})

test('a job that has nothing under way goes to the provider that the catalog names now', async () => {
  await using remote = await startReplicate({ fails: 'Prediction interrupted; please retry (code: PA)' })
  await using first = await startKeptRun()
  await outcomeOf(remote.engine.run(remote.spec, first))
  await using second = await startKeptRun({ checkpoint: first.saved.at(-1) ?? null })
  const provider = { ...(remote.spec['provider'] as object), name: 'renamed' }
  await outcomeOf(remote.engine.run({ ...remote.spec, provider }, second))
  expect(second.records[0]).toMatchObject({ n: 2, provider: 'renamed', verdict: 'submitting' })
})
