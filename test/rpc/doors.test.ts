// The same calls through all doors: in-process, gRPC, Connect, gRPC-Web. What a caller sees is decided behind them. Architecture, "Three doors, one pipeline".
import { Agent } from 'node:http'
import { join } from 'node:path'
import { toJson } from '@bufbuild/protobuf'
import { type CallOptions, type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CatalogService,
  GetModelResponseSchema,
  ListModelsResponseSchema,
  ListProductsResponseSchema,
} from '../../gen/mediagen/v1/catalog_pb.ts'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { GenerationService, JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { QuotesService } from '../../gen/mediagen/v1/quotes_pb.ts'
import { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import type { App } from '../../src/app/app.ts'
import { startTestApp, type TestApp, testCatalog } from '../test-app.ts'
import { countCalls } from './metrics.ts'

interface Door {
  readonly catalog: Client<typeof CatalogService>
  readonly generation: Client<typeof GenerationService>
  readonly quotes: Client<typeof QuotesService>
  readonly wallet: Client<typeof WalletService>
}

// A server waits some seconds for connections on which a refused request was still under way: the tests end them first.
const agent = new Agent()
const overHttp = { httpVersion: '1.1', nodeOptions: { agent } } as const

const transports: Readonly<Record<string, (app: App) => Transport>> = {
  'in-process': (app) => app.services,
  gRPC: (app) => createGrpcTransport({ baseUrl: app.grpcUrl ?? '' }),
  Connect: (app) => createConnectTransport({ baseUrl: app.httpUrl, ...overHttp }),
  'Connect with JSON': (app) => createConnectTransport({ baseUrl: app.httpUrl, useBinaryFormat: false, ...overHttp }),
  'gRPC-Web': (app) => createGrpcWebTransport({ baseUrl: app.httpUrl, ...overHttp }),
}

const model = 'test/instant/text-to-image'
const gateModel = 'test/gate/text-to-image'
const input = { prompt: 'x', width: 640, nested: { list: [1, null, true, 'y', 1.5] } }
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({
    MEDIAGEN_CATALOG: `${testCatalog}:${join(import.meta.dirname, '../models/unpriced.yaml')}`,
    MEDIAGEN_MAX_BODY_BYTES: '20000',
  })
})

afterAll(() => app[Symbol.asyncDispose]())

function openDoor(name: string): Door {
  const transport = transports[name]?.(app.app) as Transport
  return {
    catalog: createClient(CatalogService, transport),
    generation: createClient(GenerationService, transport),
    quotes: createClient(QuotesService, transport),
    wallet: createClient(WalletService, transport),
  }
}

const as = (key: string, more: Record<string, string> = {}): CallOptions => ({
  headers: { authorization: `Bearer ${key}`, ...more },
})

/** What a refusal says: status, code, words, places. */
async function refusalOf(call: Promise<unknown>): Promise<object> {
  const error = await call.then(
    () => Promise.reject(new Error('the call was not refused')),
    (thrown: unknown) => ConnectError.from(thrown),
  )
  const [detail] = error.findDetails(ErrorDetailSchema)
  return {
    status: Code[error.code],
    message: error.rawMessage,
    code: detail?.code,
    retryable: detail?.retryable,
    places: detail?.violations.map(({ pointer }) => pointer),
    permission: detail?.permission,
    required: detail?.required,
    id: error.metadata.get('x-request-id'),
  }
}

async function readAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

const key = (): string => app.account.key
const other = { 'x-request-id': 'the-same' }

/** Calls whose outcome must be one and the same, whichever door they go through. */
const calls: Readonly<Record<string, (door: Door) => Promise<unknown>>> = {
  'list of models': async ({ catalog }) =>
    toJson(ListModelsResponseSchema, await catalog.listModels({ limit: 3, offset: 1 }, as(key()))),
  'list of products': async ({ catalog }) =>
    toJson(ListProductsResponseSchema, await catalog.listProducts({ search: 'test' }, as(key()))),
  'one model': async ({ catalog }) => toJson(GetModelResponseSchema, await catalog.getModel({ model }, as(key()))),
  'an unknown model': ({ catalog }) => refusalOf(catalog.getModel({ model: 'ünknown' }, as(key(), other))),
  'who am I': async ({ wallet }) => (await wallet.getAccess({}, as(key()))).accountId,
  'no key': ({ wallet }) => refusalOf(wallet.getWallet({}, { headers: other })),
  'an unknown key': ({ wallet }) => refusalOf(wallet.getWallet({}, as('mgk_nobody', other))),
  'a key without the permission': async ({ wallet }) =>
    refusalOf(wallet.getWallet({}, as(await app.createKey(app.account.accountId, ['generate']), other))),
  'a watch without the permission': async ({ generation }) =>
    refusalOf(
      readAll(
        generation.watchJob({ jobId: 'job_x' }, as(await app.createKey(app.account.accountId, ['generate']), other)),
      ),
    ),
  'a wrong page': ({ catalog }) => refusalOf(catalog.listModels({ limit: 0, offset: -1 }, as(key(), other))),
  'a search for models that is too long': ({ catalog }) =>
    refusalOf(catalog.listModels({ search: 'é '.repeat(101) }, as(key(), other))),
  'a search for products that is too long': ({ catalog }) =>
    refusalOf(catalog.listProducts({ search: 'x'.repeat(201), category: 'x'.repeat(201) }, as(key(), other))),
  'a search for jobs that is too long': ({ generation }) =>
    refusalOf(generation.listJobs({ search: 'x'.repeat(201), model: 'x'.repeat(201) }, as(key(), other))),
  'an empty quote': ({ quotes }) => refusalOf(quotes.createQuote({}, as(key(), other))),
  'a wrong input': ({ quotes }) =>
    refusalOf(quotes.createQuote({ model, input: { prompt: '', width: 1.5, odd: 1 } }, as(key(), other))),
  'a number that was rounded on its way': ({ quotes }) =>
    refusalOf(
      quotes.createQuote(
        { model, input: { prompt: 'x', nested: { seeds: [2 ** 53, 1] }, seed: -1e20 } },
        as(key(), other),
      ),
    ),
  'an input without a price': ({ quotes }) =>
    refusalOf(
      quotes.createQuote(
        { model: 'test/unpriced/text-to-image', input: { prompt: 'x', width: 777 } },
        as(key(), other),
      ),
    ),
  'a forged quote': ({ quotes }) => refusalOf(quotes.getQuote({ quoteId: 'quote_forged' }, as(key(), other))),
  'a watch of no job': ({ generation }) =>
    refusalOf(readAll(generation.watchJob({ jobId: 'job_none' }, as(key(), other)))),
  'too few credits': async ({ quotes, generation }) => {
    const poor = as((await app.createAccount(1)).key, other)
    const { quote } = await quotes.createQuote({ model, input }, poor)
    return refusalOf(
      generation.startGeneration({ model, input, quoteId: quote?.quoteId ?? '', idempotencyKey: 'k' }, poor),
    )
  },
  'a whole generation': async ({ quotes, generation, wallet }) => {
    const payer = as((await app.createAccount(50)).key)
    const { quote } = await quotes.createQuote({ model, input }, payer)
    const request = { model, input, quoteId: quote?.quoteId ?? '', idempotencyKey: 'k', wait: true }
    const { job } = await generation.startGeneration(request, payer)
    const again = await generation.startGeneration(request, payer)
    const watched = await readAll(generation.watchJob({ jobId: job?.jobId ?? '' }, payer))
    const { available, held } = await wallet.getWallet({}, payer)
    return {
      status: job?.status,
      billing: { ...job?.billing },
      outputs: job?.outputs.map(({ contentType, width, sha256 }) => ({ contentType, width, sha256 })),
      replayed: again.replayed,
      same: again.job?.jobId === job?.jobId,
      last: watched.at(-1)?.job?.status,
      available,
      held,
    }
  },
  'the request id of the client': async ({ catalog }) => {
    let id: string | null = null
    await catalog.listCategories({}, { ...as(key(), other), onHeader: (headers) => (id = headers.get('x-request-id')) })
    return id
  },
}

describe.for(Object.keys(calls))('%s', (name) => {
  test('is the same at every door', async () => {
    const run = calls[name] as (door: Door) => Promise<unknown>
    const expected = await run(openDoor('in-process'))
    expect(expected).toBeTruthy()
    for (const door of Object.keys(transports)) expect(await run(openDoor(door)), door).toEqual(expected)
  })
})

describe.for(Object.keys(transports))('through %s', (name) => {
  /** A job that ends when its gate is opened, and a client of its account. */
  async function startGated() {
    const gate = app.gate()
    const { body } = await app.generate(gateModel, gate.input, { wait: false })
    return { jobId: body.job_id as string, gate, door: openDoor(name), options: as(key()) }
  }

  test('a watch tells each change and its end, and echoes the request id', async () => {
    const { jobId, gate, door, options } = await startGated()
    let id: string | null = null
    const statuses: JobStatus[] = []
    for await (const { job } of door.generation.watchJob(
      { jobId },
      { ...as(key(), other), onHeader: (headers) => (id = headers.get('x-request-id')) },
    )) {
      statuses.push(job?.status ?? JobStatus.UNSPECIFIED)
      gate.open()
    }
    expect(statuses.at(-1)).toBe(JobStatus.SUCCEEDED)
    expect(id).toBe('the-same')
    expect((await door.generation.getJob({ jobId }, options)).job?.status).toBe(JobStatus.SUCCEEDED)
  })

  test('a deadline ends a watch, not its job', async () => {
    const { jobId, gate, door, options } = await startGated()
    expect(await refusalOf(readAll(door.generation.watchJob({ jobId }, { ...options, timeoutMs: 200 })))).toMatchObject(
      { status: 'DeadlineExceeded' },
    )
    gate.open()
    expect((await readAll(door.generation.watchJob({ jobId }, options))).at(-1)?.job?.status).toBe(JobStatus.SUCCEEDED)
  })

  test('a client that leaves ends its watch on the server too, not its job', async () => {
    const { jobId, gate, door, options } = await startGated()
    const count = () => countCalls(app, 'GenerationService.WatchJob', 'ok')
    const before = await count()
    const leave = new AbortController()
    const watch = (async () => {
      for await (const _ of door.generation.watchJob({ jobId }, { ...options, signal: leave.signal })) leave.abort()
    })()
    expect(await refusalOf(watch)).toMatchObject({ status: 'Canceled' })
    await expect.poll(count).toBe(before + 1)
    gate.open()
    expect((await readAll(door.generation.watchJob({ jobId }, options))).at(-1)?.job?.status).toBe(JobStatus.SUCCEEDED)
  })

  test('a deadline ends a wait, not its job', async () => {
    const gate = app.gate()
    const door = openDoor(name)
    const { quote } = await door.quotes.createQuote({ model: gateModel, input: gate.input }, as(key()))
    const request = {
      model: gateModel,
      input: gate.input,
      quoteId: quote?.quoteId ?? '',
      idempotencyKey: crypto.randomUUID(),
      wait: true,
    }
    expect(await refusalOf(door.generation.startGeneration(request, { ...as(key()), timeoutMs: 3000 }))).toMatchObject({
      status: 'DeadlineExceeded',
    })
    gate.open()
    expect(await door.generation.startGeneration(request, as(key()))).toMatchObject({
      replayed: true,
      job: { status: JobStatus.SUCCEEDED },
    })
  })
})

test.for(Object.keys(transports).filter((name) => name !== 'in-process'))(
  'a request above the limit is refused through %s',
  async (name) => {
    const { quotes } = openDoor(name)
    const ask = (length: number) =>
      refusalOf(quotes.createQuote({ model, input: { prompt: 'x'.repeat(length) } }, as(key())))
    expect(await ask(19_000)).toMatchObject({ status: 'InvalidArgument', code: 'invalid_input' })
    expect(await ask(130_000)).toMatchObject({ status: 'ResourceExhausted' })
    agent.destroy()
  },
)

test('a refusal over Connect says in a header when to come again', async () => {
  const answer = await app.send('/mediagen.v1.QuotesService/CreateQuote', {
    body: { model: 'test/unready/video-to-video', input },
  })
  expect([answer.status, answer.body.code]).toEqual([503, 'unavailable'])
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
})
