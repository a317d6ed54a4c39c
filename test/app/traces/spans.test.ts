// P348, P349, P350, P351: what is part of which trace: retries have one of their own, with a link; a client's place in a trace is kept at
// every door; what is malformed is ignored.
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { GenerationService } from '../../../gen/mediagen/v1/generation_pb.ts'
import { startApp } from '../../../src/app/start.ts'
import { readConfig } from '../../../src/config.ts'
import { startServer } from '../../engines/remote-fixture.ts'
import { serveFake } from '../../engines/remote/fakes/fake.ts'
import { createFakeFal } from '../../engines/remote/fakes/fal.ts'
import { type KindCase, kindCases } from '../../engines/remote/kinds.ts'
import { openReceiver } from '../../outgoing/receiver.ts'
import { startTestApp } from '../../test-app.ts'
import { startWebhookApp } from '../../webhooks/webhook-app.ts'
import { openTestTraces, type SentSpan, startCollector, toTree } from './collector.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const clientsSpan = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${clientsSpan}-01`
const instant = 'test/instant/text-to-image'
const silent = pino({ level: 'silent' })
const find = (spans: readonly SentSpan[], name: string) => spans.filter((span) => span.name === name)

async function traced() {
  const collector = await startCollector()
  const open = (name = 'mediagen', env = {}) => openTestTraces(collector, { OTEL_SERVICE_NAME: name, ...env })
  return {
    ...collector,
    spans: collector.spans,
    collector,
    open,
    [Symbol.asyncDispose]: () => collector[Symbol.asyncDispose](),
  }
}

test('a job that runs again has a trace of its own, with a link to the start; the first run is part of that', async () => {
  await using to = await traced()
  await using first = await startTestApp({}, { traces: to.open() })
  const gate = first.gate()
  const started = await first.generate('test/gate/text-to-image', gate.input, { wait: false })
  await gate.begun()
  await first.app[Symbol.asyncDispose]()
  await using second = await startTestApp({ MEDIAGEN_DATA_DIR: first.config.dataDir }, { traces: to.open() })
  gate.open()
  const read = async () => (await second.send(`/v1/jobs/${started.body.job_id}`, { key: first.account.key })).body
  await expect.poll(async () => (await read()).status).toBe('succeeded')
  await second.app[Symbol.asyncDispose]()

  const [hold] = find(to.spans, 'hold')
  const runs = find(to.spans, 'run').toSorted((a, b) => a.startMs - b.startMs)
  expect(runs.map(({ facts }) => facts['mediagen.attempt'])).toEqual([1, 2])
  expect(runs[0]).toMatchObject({ traceId: hold?.traceId, parentId: hold?.spanId, links: [] })
  expect(runs[1]).toMatchObject({ parentId: '', links: [hold?.spanId] })
  expect(runs[1]?.traceId).not.toBe(hold?.traceId)
  // The outputs of the second run are stored in its trace.
  expect(find(to.spans, 'store outputs').map((span) => span.traceId)).toEqual([runs[1]?.traceId])
  expect(find(to.spans, 'queue')).toHaveLength(1)
})

test('a webhook that is sent again has a trace of its own, with a link to the start', async () => {
  await using to = await traced()
  await using receiver = await openReceiver()
  await using server = await startWebhookApp({}, { traces: to.open() })
  await server.register(receiver.url)
  receiver.answer = 500
  await server.runJob()
  const { headers } = await receiver.next()
  receiver.answer = 200
  const [delivery] = (await server.app.admin.findDeliveries({ accountId: server.app.account.accountId })).deliveries
  await expect.poll(() => find(to.spans, 'webhook').length).toBe(1)
  await receiver.next()
  await expect.poll(() => find(to.spans, 'webhook').length).toBe(2)
  await server.app.app[Symbol.asyncDispose]()
  const [hold] = find(to.spans, 'hold')
  const attempts = find(to.spans, 'webhook').toSorted((a, b) => a.startMs - b.startMs)
  expect(attempts[0]).toMatchObject({
    traceId: hold?.traceId,
    parentId: hold?.spanId,
    error: '500',
    facts: { 'mediagen.delivery.id': delivery?.deliveryId },
  })
  expect(headers['traceparent']).toBe(`00-${hold?.traceId}-${attempts[0]?.spanId}-01`)
  expect(attempts[1]).toMatchObject({ parentId: '', links: [hold?.spanId], error: null })
})

describe('the place of a client in a trace', () => {
  test.each([
    ['over gRPC', async (app: { grpcUrl: string | null }) => createGrpcTransport({ baseUrl: app.grpcUrl ?? '' })],
    [
      'over Connect',
      async (app: { httpUrl: string }) => createConnectTransport({ baseUrl: app.httpUrl, httpVersion: '1.1' }),
    ],
  ] as const)('is kept %s', async (_, connect) => {
    await using to = await traced()
    await using app = await startTestApp({}, { traces: to.open() })
    const client = createClient(GenerationService, await connect(app.app))
    const headers = { authorization: `Bearer ${app.account.key}`, traceparent, tracestate: 'vendor=x' }
    await client.run(
      { model: instant, input: { prompt: 'x' }, maxCredits: 10n, idempotencyKey: 'k', wait: true },
      { headers },
    )
    await app.app[Symbol.asyncDispose]()
    expect(toTree(to.spans, traceId)).toEqual([
      'mediagen: GenerationService.Run',
      '  mediagen: quote',
      '  mediagen: hold',
      '    mediagen: queue',
      '    mediagen: run',
      '      mediagen: engine',
      '      mediagen: store outputs',
    ])
    expect(find(to.spans, 'GenerationService.Run')[0]).toMatchObject({ parentId: clientsSpan, state: 'vendor=x' })
  })

  test('is kept over REST, at a gateway and at its core, and by the tools of MCP', async () => {
    await using to = await traced()
    await using app = await startTestApp({}, { traces: to.open('core') })
    const config = readConfig({ MEDIAGEN_HTTP_PORT: '0', MEDIAGEN_CORE_URL: app.app.grpcUrl ?? '' })
    await using gateway = await startApp(config, { log: silent, traces: to.open('gateway') })
    const headers = { authorization: `Bearer ${app.account.key}`, 'content-type': 'application/json', traceparent }
    const post = (path: string, body: object, more = {}) =>
      fetch(gateway.httpUrl + path, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) })
    await (await post('/v1/quotes', { model: instant, input: { prompt: 'x' } })).text()
    const params = { name: 'get_wallet', arguments: {} }
    const accept = { accept: 'application/json, text/event-stream' }
    await (await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, accept)).text()
    await gateway[Symbol.asyncDispose]()
    await app.app[Symbol.asyncDispose]()
    expect(toTree(to.spans, traceId)).toEqual([
      'gateway: POST /v1/quotes',
      '  core: QuotesService.CreateQuote',
      'gateway: POST /mcp',
      '  gateway: GET /v1/wallet',
      '    core: WalletService.GetWallet',
    ])
  })

  test.each([
    'x',
    `00-${traceId}-${clientsSpan}`,
    `ff-${traceId}-${clientsSpan}-01`,
    `00-${'0'.repeat(32)}-${clientsSpan}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${clientsSpan}-01`,
    `${traceparent}, ${traceparent}`,
    `${traceparent} ${'x'.repeat(200)}`,
  ])('is ignored where it is malformed: %s', async (malformed) => {
    await using to = await traced()
    await using app = await startTestApp({}, { traces: to.open() })
    const answer = await app.send('/v1/quotes', {
      body: { model: instant, input: { prompt: 'x' } },
      headers: { traceparent: malformed, tracestate: '\u00e9=,=' },
    })
    expect(answer.status).toBe(200)
    await app.app[Symbol.asyncDispose]()
    const [request] = find(to.spans, 'POST /v1/quotes')
    expect(request).toMatchObject({ parentId: '', state: '' })
    expect(request?.traceId).not.toBe(traceId)
  })

  test('is not recorded where the client does not record it, unless the sampler says so', async () => {
    await using to = await traced()
    const names: string[][] = []
    for (const OTEL_TRACES_SAMPLER of ['parentbased_always_on', 'always_on', 'always_off', 'traceidratio']) {
      to.spans.length = 0
      await using app = await startTestApp(
        {},
        { traces: to.open('m', { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG: '0' }) },
      )
      await app.send('/v1/wallet', { headers: { traceparent: traceparent.replace(/1$/, '0') } })
      await app.app[Symbol.asyncDispose]()
      names.push(to.spans.map(({ name }) => name))
    }
    expect(names).toEqual([[], ['WalletService.GetWallet', 'GET /v1/wallet'], [], []])
  })
})

test('callers without a valid key leave no spans', async () => {
  await using to = await traced()
  await using app = await startTestApp({}, { traces: to.open() })
  expect((await app.send('/v1/wallet', { key: 'mgk_x' })).status).toBe(401)
  expect((await app.send('/v1/wallet', { key: null })).status).toBe(401)
  expect((await app.send('/healthz', { key: null })).status).toBe(200)
  await app.app[Symbol.asyncDispose]()
  expect(to.spans).toEqual([])
})

test('what fails says why by a code: a refusal, a provider, a run', async () => {
  await using to = await traced()
  const fal = kindCases.find(({ kind }) => kind === 'fal') as KindCase
  await using provider = await serveFake(createFakeFal({ fails: { detail: 'the prompt is forbidden' } }))
  await using server = await startServer({ fal: fal.toSpec(provider.origin) }, {}, {}, { traces: to.open() })
  const { app } = server
  const { body: job } = await app.generate('test/fal', { prompt: 'a forbidden prompt' })
  expect(job).toMatchObject({ status: 'failed', error: { code: 'provider_failed' } })
  const poor = await app.createAccount(1)
  expect((await app.generate('test/fal', { prompt: 'x' }, { account: poor })).status).toBe(402)
  await app.app[Symbol.asyncDispose]()
  const errors = to.spans.filter(({ error }) => error !== null).map(({ name, error }) => `${name}: ${error}`)
  expect(errors.toSorted()).toEqual([
    'engine: provider_failed',
    'hold: insufficient_credits',
    'run: provider_failed',
    'upstream run: provider_failed',
  ])
  const refused = { error: null, facts: { 'error.type': 'insufficient_credits' } }
  expect(find(to.spans, 'GenerationService.StartGeneration')[1]).toMatchObject(refused)
  expect(JSON.stringify(to.spans)).not.toContain('forbidden')
})
