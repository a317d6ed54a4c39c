// Runs, which quote and start in one call: what they are refused for, and that the same one again is paid once.
// P241, P242, P243, P244, P247.
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { RunRequestSchema, StartGenerationRequestSchema } from '../../gen/mediagen/v1/generation_pb.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { Catalog, Model } from '../../src/catalog/model.ts'
import type { ApiKey } from '../../src/core/accounts/key.ts'
import { noLimits } from '../../src/core/accounts/limits.ts'
import { noTraces } from '../../src/core/traces.ts'
import { createQuoteBook } from '../../src/services/quote-book.ts'
import { createStarts } from '../../src/services/starts.ts'
import { kinds } from '../catalog/kinds.ts'
import { balanceOf, createHeldClock, entriesOf, filterOf } from '../storage/fixture.ts'
import { openTestStore } from '../test-store.ts'

const models = loadCatalog([join(import.meta.dirname, '../models/models.yaml')], kinds)
const [instant, edit] = models as [Model, Model, ...Model[]]
const quoteMs = 600_000

/** Starts on a store of their own, by an account with so many credits. A picture costs three, until the test says otherwise. */
async function open(credits: number) {
  const clock = createHeldClock()
  const store = await openTestStore(clock)
  const { accountId } = await store.createAccount('a', credits)
  const server = { price: 3, isStopping: false, hasModel: true, isReady: true }
  const priced: Model = { ...instant, quotedPrice: () => server.price }
  const catalog: Catalog = {
    ready: () => [priced, edit],
    find: (id) => (server.hasModel ? [priced, edit].find((model) => model.id === id) : undefined),
    resolve: () => undefined,
    unready: () => (server.isReady ? null : 'its engine is away'),
    endOf: () => null,
  }
  const quotes = createQuoteBook(store, clock, quoteMs)
  const starts = createStarts({
    store,
    catalog,
    quotes,
    clock,
    log: { error: () => {} },
    traces: noTraces,
    maxQueuedJobs: 1000,
    retainMs: 86_400_000,
    timeZone: 'UTC',
    topUpUrl: null,
    isStopping: () => server.isStopping,
    webhookTargets: { isRefusedHost: () => false, findRefusedPort: () => null },
  })
  const unlimited = { limits: noLimits, makerLimits: noLimits, accountLimits: noLimits }
  const caller = { keyId: 'key_test', accountId, permissions: ['generate'], ...unlimited } as unknown as ApiKey
  const usual = { model: instant.id, input: { prompt: 'x' }, idempotencyKey: 'k' }
  const code = (outcome: Promise<unknown>): Promise<unknown> =>
    outcome.then(
      () => 'ok',
      (error) => error.code ?? error,
    )
  const run = (change: object = {}) =>
    starts.upToMaximum(create(RunRequestSchema, { ...usual, maxCredits: 5n, ...change }), caller)
  const start = (quoteId: string, change: object = {}) =>
    starts.withQuote(create(StartGenerationRequestSchema, { ...usual, quoteId, ...change }), caller)
  return {
    clock,
    server,
    quotes,
    run,
    start,
    refuseRun: (change?: object) => code(run(change)),
    refuseStart: (quoteId: string, change?: object) => code(start(quoteId, change)),
    balance: () => balanceOf(store, accountId),
    entries: () => entriesOf(store, accountId),
    countJobs: async () => (await store.listJobs(filterOf(accountId))).total,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

test('a run holds the price and starts a job with a quote of its own', async () => {
  await using app = await open(10)
  const { job, replayed } = await app.run()
  expect(replayed).toBe(false)
  expect(job).toMatchObject({ status: 'queued', model: instant.id, creditsHeld: 3 })
  expect(await app.quotes.open(job.accountId, job.quoteId)).toMatchObject({ model: instant.id, credits: 3 })
  expect(await app.balance()).toEqual([7, 3])
})

test('a price above the maximum is refused with the price, holds nothing, and leaves the key free', async () => {
  await using app = await open(10)
  await expect(app.run({ maxCredits: 2n })).rejects.toMatchObject({
    code: 'price_above_maximum',
    message: 'This costs 3 credits, and the request allows at most 2 (max_credits). Nothing was held.',
    details: { required: 3 },
  })
  expect([await app.balance(), await app.entries(), await app.countJobs()]).toEqual([[10, 0], ['grant 10'], 0])
  // Exactly the price is not above it.
  expect((await app.run({ maxCredits: 3n })).replayed).toBe(false)
})

test('a maximum of nothing takes what costs nothing', async () => {
  await using app = await open(0)
  expect(await app.refuseRun({ maxCredits: 0n })).toBe('price_above_maximum')
  app.server.price = 0
  expect((await app.run({ maxCredits: 0n })).job.creditsHeld).toBe(0)
})

test.each([
  ['none', undefined, 'is required: the most that this may cost'],
  ['a negative one', -1n, 'must be 0 to 2^53 - 1'],
  ['one that no double holds', 2n ** 53n, 'must be 0 to 2^53 - 1'],
])('a maximum is a whole number from 0: %s', async (_what, maxCredits, detail) => {
  await using app = await open(10)
  await expect(app.run({ maxCredits })).rejects.toMatchObject({
    code: 'invalid_request',
    details: { violations: [{ pointer: '/max_credits', detail }] },
  })
})

test('the same run again is the same job, whatever has become of quote, price, model, balance and server', async () => {
  await using app = await open(3)
  const { jobId } = (await app.run()).job
  const changes: (() => void)[] = [
    () => (app.clock.ms += quoteMs + 1),
    () => (app.server.price = 6),
    () => (app.server.isReady = false),
    () => (app.server.hasModel = false),
    () => (app.server.isStopping = true),
  ]
  for (const change of [() => {}, ...changes]) {
    change()
    expect(await app.run()).toMatchObject({ replayed: true, job: { jobId, creditsHeld: 3 } })
  }
  expect([await app.balance(), await app.countJobs()]).toEqual([[0, 3], 1])
})

test('twenty equal runs at once are one job and one hold', async () => {
  await using app = await open(100)
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => app.run()))
  expect(new Set(outcomes.map(({ job }) => job.jobId)).size).toBe(1)
  expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1)
  expect([await app.balance(), await app.entries()]).toEqual([
    [97, 3],
    ['grant 100', 'hold 3'],
  ])
})

test('twenty runs at once that differ in their maximum are one job; the others learn that the key is taken', async () => {
  await using app = await open(100)
  const codes = await Promise.all(Array.from({ length: 20 }, (_, i) => app.refuseRun({ maxCredits: BigInt(10 + i) })))
  expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
  expect(codes.filter((code) => code === 'idempotency_key_reused')).toHaveLength(19)
  expect([await app.balance(), await app.countJobs()]).toEqual([[97, 3], 1])
})

test.each([
  ['another input', { input: { prompt: 'y' } }],
  ['another model', { model: edit.id }],
  ['a model that does not exist', { model: 'test/none' }],
  ['a higher maximum', { maxCredits: 6n }],
  ['a maximum below the price', { maxCredits: 1n }],
  ['a deadline', { expiresInSeconds: 60 }],
  ['a priority', { priority: -1 }],
  ['a retention', { retainSeconds: 60 }],
])('a key that a run has used is not taken for a run with %s', async (_what, change) => {
  await using app = await open(100)
  await app.run()
  expect(await app.refuseRun(change)).toBe('idempotency_key_reused')
  expect([await app.balance(), await app.countJobs()]).toEqual([[97, 3], 1])
})

test('runs and starts with a quote do not answer each other, even with the quote of the run', async () => {
  await using app = await open(100)
  const { job } = await app.run()
  expect(await app.refuseStart(job.quoteId)).toBe('idempotency_key_reused')
  expect(await app.refuseStart('max_credits=5')).toBe('idempotency_key_reused')
  expect(await app.refuseStart('')).toBe('invalid_request')
  const { replayed } = await app.start(job.quoteId, { idempotencyKey: 'another' })
  expect(replayed).toBe(false)
  expect(await app.refuseRun({ idempotencyKey: 'another' })).toBe('idempotency_key_reused')
  expect([await app.balance(), await app.countJobs()]).toEqual([[94, 6], 2])
})

test('of all that is wrong with a run the first check in the order is told, one by one', async () => {
  await using app = await open(2)
  const request = { maxCredits: 1n as bigint | undefined, idempotencyKey: '', model: 'test/none', input: {} }
  const codes: unknown[] = []
  const look = async (change: object): Promise<void> =>
    void codes.push(await app.refuseRun(Object.assign(request, change)))
  await look({ maxCredits: undefined })
  await look({ maxCredits: 1n })
  await look({ idempotencyKey: 'not legal' })
  app.server.isReady = false
  await look({ idempotencyKey: 'legal' })
  await look({ model: instant.id })
  app.server.isReady = true
  await look({})
  await look({ input: { prompt: 'x' } })
  await look({ maxCredits: 3n })
  app.server.price = 2
  await look({})
  expect(codes).toEqual([
    'invalid_request',
    'idempotency_key_required',
    'idempotency_key_invalid',
    'model_not_found',
    'model_unavailable',
    'invalid_input',
    'price_above_maximum',
    'insufficient_credits',
    'ok',
  ])
  expect(await app.balance()).toEqual([0, 2])
})
