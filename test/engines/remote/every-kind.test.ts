// What holds for every kind of provider, over real connections to its fake.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError, type JsonValue, OutcomeUnknown } from '@mediagen/engine/engine.ts'
import { describe, expect, it } from 'vitest'
import type { RemoteEngineDeps } from '../../../src/engines/remote/remote-engine.ts'
import { parseAllowedHosts } from '../../../src/outgoing/hosts.ts'
import { createPublicClient, type PublicClientOptions } from '../../../src/outgoing/public-client.ts'
import { createUpstreamClient, type UpstreamClientOptions } from '../../../src/outgoing/upstream-client.ts'
import { failing, type Fault, type Faults, html, serveFake } from './fakes/fake.ts'
import { type KindCase, kindCases, secrets } from './kinds.ts'
import { createFastClock, openRemote, outcomeOf, startKeptRun } from './remote-run.ts'

const lostFaults: readonly Fault[] = ['cut after', 'bad gateway', { status: 502, body: 'bad gateway' }]

async function start(one: KindCase, faults: Faults = () => null, deps: Partial<RemoteEngineDeps> = {}) {
  const clock = createFastClock()
  const { fake, submissions } = one.open(clock.nowMs)
  const served = await serveFake(fake, faults)
  const engine = openRemote(one.kind, secrets, { ...clock, ...deps })
  const spec = one.toSpec(served.origin)
  return {
    clock,
    served,
    engine,
    spec,
    submissions,
    async run(checkpoint: JsonValue = null, jobId = 'job_1') {
      const run = await startKeptRun({ input: one.input, checkpoint, jobId })
      const outcome = await outcomeOf(engine.run(spec, run))
      return { run, outcome }
    },
    async [Symbol.asyncDispose]() {
      await engine.close()
      await served[Symbol.asyncDispose]()
    },
  }
}

const asked = kindCases.filter(({ question }) => question !== null)
// The answer of these says nothing that is needed.
const answering = kindCases.filter(({ kind }) => kind !== 'comfyui' && kind !== 'sd-server')

describe.each(asked)('$title', (one) => {
  it('asks again when the state cannot be had, however often', async () => {
    const limited = { status: 429, headers: { 'retry-after': '5' } }
    const trouble: Fault[] = [{ status: 503, body: 'later' }, 'cut before', html, 'truncate', limited, 'slow']
    await using remote = await start(one, failing(one.question ?? /^$/, ...trouble))
    const { run, outcome } = await remote.run()
    await using _ = run
    expect(outcome).toMatchObject({ files: ['output-0'] })
    expect(remote.submissions()).toBe(1)
  })
})

describe.each(answering)('$title', (one) => {
  it('ends in words when it answers HTML', async () => {
    await using remote = await start(one, failing(one.submission, html, html, html, html, html, html))
    const { run, outcome } = await remote.run()
    await using _ = run
    expect(outcome).toBeInstanceOf(Error)
    expect(remote.submissions()).toBe(0)
    if (!(outcome instanceof OutcomeUnknown)) expect(outcome).toMatchObject({ code: 'provider_output_lost' })
  })
})

describe.each(kindCases)('$title', (one) => {
  it('submits once, waits and fetches the files', async () => {
    await using remote = await start(one)
    const { run, outcome } = await remote.run()
    await using _ = run
    expect(outcome).toMatchObject({ files: ['output-0'] })
    expect((await readFile(join(await run.folder(), 'output-0'))).length).toBeGreaterThan(5)
    expect(remote.submissions()).toBe(1)
    expect(run.verdicts()).toEqual({ 1: 'succeeded' })
    expect(run.saved[0]).toMatchObject({ v: 1, state: 'submitting', n: 1 })
    expect(JSON.stringify([run.saved, run.records])).not.toContain(secrets.KEY)
  })

  it('is ready when it answers', async () => {
    await using remote = await start(one)
    expect(await remote.engine.unready(remote.spec)).toBeNull()
  })

  it('waits as long as a provider asks that is too busy', async () => {
    const busy = { status: 429, headers: { 'retry-after': '30' }, json: { detail: 'slow down' } }
    await using remote = await start(one, failing(one.submission, busy, busy))
    const { run, outcome } = await remote.run()
    await using _ = run
    expect(outcome).toMatchObject({ files: ['output-0'] })
    expect(remote.clock.waits.filter((ms) => ms >= 30_000)).toHaveLength(2)
    expect(remote.submissions()).toBe(1)
    expect(run.verdicts()).toEqual({ 1: 'refused', 2: 'refused', 3: 'succeeded' })
  })

  it.each([400, 401, 402, 403, 404, 413, 422])(
    'tells the reason of a refusal with %i, without keys',
    async (status) => {
      const json = { detail: `no, ${secrets.KEY} https://x.test/a?key=1`, error: undefined }
      await using remote = await start(one, failing(one.submission, { status, json }))
      const { run, outcome } = await remote.run()
      await using _ = run
      expect(outcome).toBeInstanceOf(EngineError)
      expect(outcome).toMatchObject({
        code: 'provider_refused',
        retryable: false,
        message: `${one.kind} answered ${status}: no, [KEY] https://x.test/a. Nothing was charged.`,
      })
      expect(remote.submissions()).toBe(0)
      expect(run.verdicts()).toEqual({ 1: 'refused' })
      expect(run.saved.at(-1)).toMatchObject({ state: 'idle' })
    },
  )

  it('a reason that is a sentence ends once', async () => {
    await using remote = await start(one, failing(one.submission, { status: 400, json: { detail: 'It is rejected.' } }))
    const { run, outcome } = await remote.run()
    await using _ = run
    expect((outcome as Error).message).toBe(`${one.kind} answered 400: It is rejected. Nothing was charged.`)
  })

  it('gives up on a provider that cannot be reached, having sent nothing', async () => {
    await using remote = await start(one)
    await remote.served[Symbol.asyncDispose]()
    const { run, outcome } = await remote.run()
    await using _ = run
    expect(outcome).toMatchObject({ code: 'provider_unreachable', retryable: true })
    expect((outcome as Error).message).toContain('the connection was refused')
    expect(new Set(Object.values(run.verdicts()))).toEqual(new Set(['refused']))
  })

  it.each(lostFaults)('sends nothing twice that may be paid twice, after %j', async (fault) => {
    await using remote = await start(one, failing(one.submission, fault))
    const { run, outcome } = await remote.run()
    await using _ = run
    const accepted = typeof fault === 'string'
    const isFree = one.lost === 'again' || one.kind === 'comfyui'
    if (isFree || (one.lost === 'found' && accepted)) expect(outcome).toMatchObject({ files: ['output-0'] })
    else expect(outcome).toBeInstanceOf(OutcomeUnknown)
    if (one.lost !== 'again') expect(remote.submissions()).toBe(accepted || isFree ? 1 : 0)
  })

  it('goes on from every checkpoint after a crash, and submits no second time', async () => {
    for (let steps = 1; steps <= 4; steps++) {
      await using remote = await start(one)
      await using crashed = await startKeptRun({ input: one.input })
      const save = crashed.saveCheckpoint
      crashed.saveCheckpoint = async (value, upstream) => {
        await save(value, upstream)
        if (crashed.saved.length === steps) throw new Error('crash')
      }
      await outcomeOf(remote.engine.run(remote.spec, crashed))
      if (crashed.saved.length < steps) break
      const checkpoint = crashed.saved.at(-1) ?? null
      const { run, outcome } = await remote.run(checkpoint)
      await using _ = run
      const wasSent = steps > 1
      const { state } = checkpoint as { state: string }
      if (outcome instanceof OutcomeUnknown) expect(state).toBe('submitting')
      // What came with the answer is lost with this process.
      else if (one.question === null && state === 'fetching')
        expect(outcome).toMatchObject({ code: 'provider_output_lost' })
      else expect(outcome).toMatchObject({ files: ['output-0'] })
      if (one.lost !== 'again') expect(remote.submissions()).toBeLessThanOrEqual(1)
      if (one.lost === 'found' && wasSent) expect(outcome).toMatchObject({ files: ['output-0'] })
      expect(remote.engine.afterLoss(remote.spec, checkpoint)).toBe(state === 'idle' ? 'again' : 'continue')
    }
  })

  it('follows no redirect to a private address', async () => {
    await using thief = await serveFake({ answer: () => ({ status: 200, json: {} }) })
    const redirect = { status: 302, headers: { location: `${thief.origin}/steal` } }
    await using remote = await start(one, failing(/./, redirect, redirect, redirect))
    const why = await remote.engine.unready(remote.spec)
    // A hosted service is believed to come back.
    expect(why).toEqual(
      one.lost === 'again' || one.kind === 'comfyui' ? expect.stringContaining('private address') : null,
    )
    const { run } = await remote.run()
    await using _ = run
    expect(thief.requests()).toEqual([])
  })

  it('sends keys to its provider alone, wherever that redirects to', async () => {
    await using thief = await serveFake({ answer: () => ({ status: 200, json: {} }) })
    const redirect = { status: 302, headers: { location: `${thief.origin}/steal` } }
    // To this client, the thief is at a public address.
    const openPublic = (options: PublicClientOptions) =>
      createPublicClient({ ...options, allowed: parseAllowedHosts('127.0.0.1') })
    const openClient = (options: UpstreamClientOptions) => createUpstreamClient({ ...options, openPublic })
    await using remote = await start(one, failing(/^GET/, redirect, redirect, redirect), { openClient })
    await remote.engine.unready(remote.spec)
    const { run } = await remote.run()
    await using _ = run
    // Where the answer to the submission is the result, only readiness is asked for by GET.
    expect(thief.log.length).toBeGreaterThan(0)
    const told = thief.log.map(({ headers, query, body }) => [headers, String(query), String(body)])
    expect(JSON.stringify(told)).not.toContain(secrets.KEY)
    expect(remote.served.log.some(({ headers }) => JSON.stringify(headers).includes(secrets.KEY))).toBe(true)
  })

  it('leaves nothing in the folder but outputs', async () => {
    await using remote = await start(one)
    const { run } = await remote.run()
    await using _ = run
    expect(await readdir(await run.folder())).toEqual(['output-0'])
  })
})
