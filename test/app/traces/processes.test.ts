// P348, P351: one trace goes through a gateway, a core, a worker, a provider and a webhook, each in a process of its own; without a
// collector nothing of OpenTelemetry is loaded.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { readConfig } from '../../../src/config.ts'
import { createTestAccount, openClient, openCommandLine } from '../../cli/command-line.ts'
import { serveFake } from '../../engines/remote/fakes/fake.ts'
import { createFakeFal } from '../../engines/remote/fakes/fal.ts'
import { openReceiver } from '../../outgoing/receiver.ts'
import { startCollector, toTree } from './collector.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const clientsSpan = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${clientsSpan}-01`

function writeCatalog(folder: string, origin: string): string {
  const path = join(folder, 'remote.yaml')
  const model = {
    id: 'test/remote',
    name: 'Remote',
    description: 'At a provider.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'test',
    created: '2026-01-01',
    price: { credits: 7 },
    engine: { kind: 'fal', provider: 'fal', model: 'fal-ai/flux/dev' },
    input: { type: 'object', properties: { prompt: { type: 'string' } } },
  }
  writeFileSync(path, JSON.stringify({ providers: { fal: { kind: 'fal', base_url: origin } }, models: [model] }))
  return path
}

test('one trace goes from a request at a gateway to the webhook, across processes', async () => {
  await using collector = await startCollector()
  await using receiver = await openReceiver()
  const sent: Record<string, unknown>[] = []
  const fal = createFakeFal()
  const fake = {
    ...fal,
    answer: (request: Parameters<typeof fal.answer>[0]) => (sent.push(request.headers), fal.answer(request)),
  }
  await using provider = await serveFake(fake)
  await using line = openCommandLine({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=studio',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    MEDIAGEN_LOG_LEVEL: 'info',
    MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true',
  })
  const { accountId } = await createTestAccount(line)
  const { key, key_id } = await line.json([
    'admin',
    'keys',
    'create',
    '--account',
    accountId,
    '--permissions',
    'generate,webhooks',
  ])
  const catalog = { MEDIAGEN_CATALOG: writeCatalog(line.folder, provider.origin) }
  const core = await line.serve({ ...catalog, MEDIAGEN_ROLES: 'api', OTEL_SERVICE_NAME: 'core' })
  const worker = await line.serve({ ...catalog, MEDIAGEN_ROLES: 'worker', OTEL_SERVICE_NAME: 'worker' })
  const gateway = await line.serve({ MEDIAGEN_CORE_URL: core.grpcUrl ?? '', OTEL_SERVICE_NAME: 'gateway' })

  const { send } = openClient(gateway.httpUrl, key)
  await send('/v1/webhooks', { url: receiver.url })
  const { body: job } = await send(
    '/v1/run?wait=true',
    { model: 'test/remote', input: { prompt: 'a very private prompt' }, max_credits: 7 },
    { 'idempotency-key': 'k1', traceparent, tracestate: 'vendor=x' },
  )
  expect(job).toMatchObject({ status: 'succeeded', credits: 7 })
  const { headers } = await receiver.next()
  const expected = [
    'gateway: POST /v1/run',
    '  core: GenerationService.Run',
    '    core: quote',
    '    core: hold',
    '      worker: queue',
    '      worker: run',
    '        worker: engine',
    '          worker: upstream submit',
    '          worker: upstream run',
    '        worker: store outputs',
    '      worker: webhook',
  ]
  // Before the stop, which waits no longer than a second for a collector.
  await expect.poll(() => toTree(collector.spans, traceId), { timeout: 30_000 }).toEqual(expected)
  const logs = (await Promise.all([gateway, core, worker].map((one) => one.stop()))).map(({ stdout }) => stdout)

  const spans = collector.spans.filter((span) => span.traceId === traceId)
  const find = (name: string) => spans.find((span) => span.name === name)
  expect(find('POST /v1/run')).toMatchObject({ parentId: clientsSpan, state: 'vendor=x', kind: 2 })
  expect(find('webhook')?.state).toBe('vendor=x')
  expect(find('run')).toMatchObject({
    kind: 5,
    links: [],
    error: null,
    facts: {
      'mediagen.job.id': job.job_id,
      'mediagen.model': 'test/remote',
      'mediagen.account.id': accountId,
      'mediagen.key.id': key_id,
      'mediagen.credits': 7,
      'mediagen.attempt': 1,
      'mediagen.status': 'succeeded',
    },
  })
  for (const { startMs, endMs, name } of spans) expect(endMs, name).toBeGreaterThanOrEqual(startMs)
  // The receiver is the client's own; a provider learns nothing of the trace.
  expect(headers).toMatchObject({ traceparent: `00-${traceId}-${find('webhook')?.spanId}-01`, tracestate: 'vendor=x' })
  expect(sent.length).toBeGreaterThan(0)
  for (const one of sent) expect(one).not.toHaveProperty('traceparent')
  // What a collector is told, and how.
  expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', headers: { 'x-tenant': 'studio' } })
  const told = JSON.stringify(collector.spans)
  for (const secret of ['private prompt', key, provider.origin, receiver.url]) expect(told).not.toContain(secret)
  // Each process names the span in its log.
  const found = logs.map((log) => log.split('\n').filter((text) => text.includes(`"trace_id":"${traceId}"`)))
  expect(
    found[1]?.some(
      (text) => text.includes('"msg":"call"') && text.includes(find('GenerationService.Run')?.spanId ?? '?'),
    ),
  ).toBe(true)
  expect(
    found[2]?.some((text) => text.includes('"msg":"run ended"') && text.includes(find('run')?.spanId ?? '?')),
  ).toBe(true)
  expect(found[2]?.some((text) => text.includes('"msg":"webhook attempt"'))).toBe(true)
})

// Says which modules a process has loaded, when it ends.
const watch = `import { registerHooks } from 'node:module'
import { readFileSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
const loaded = new Set()
registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) })
if (isMainThread) process.on('exit', () => writeFileSync(process.env.TEST_LOADED, [...loaded].join('\\n')))`

test('without a collector, or when it is disabled, nothing of the SDK is loaded', async () => {
  await using line = openCommandLine()
  const hooks = join(line.folder, 'hooks.mjs')
  writeFileSync(hooks, watch)
  const isLoaded = async (env: Record<string, string>): Promise<boolean> => {
    const list = join(line.folder, 'loaded')
    const server = await line.serve({ ...env, NODE_OPTIONS: `--import ${hooks}`, TEST_LOADED: list })
    expect(await server.stop()).toMatchObject({ status: 0 })
    const loaded = readFileSync(list, 'utf8').split('\n')
    expect(loaded.some((url) => url.endsWith('/src/app/core.ts'))).toBe(true)
    return loaded.some((url) => /@opentelemetry\/(?!api\/)/.test(url))
  }
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
  expect(await isLoaded({ OTEL_SERVICE_NAME: 'x' })).toBe(false)
  expect(await isLoaded({ ...collector, OTEL_SDK_DISABLED: 'True' })).toBe(false)
  expect(await isLoaded(collector)).toBe(true)
})

test('a process whose SDK is not installed serves without traces, and says so', async () => {
  await using line = openCommandLine({ MEDIAGEN_LOG_LEVEL: 'info', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })
  const hooks = join(line.folder, 'hooks.mjs')
  const missing = `import { registerHooks } from 'node:module'
registerHooks({
  resolve: (name, context, next) => next(name.startsWith('@opentelemetry/sdk') ? '@opentelemetry/none' : name, context),
})`
  writeFileSync(hooks, missing)
  const server = await line.serve({ NODE_OPTIONS: `--import ${hooks}` })
  const { status, stdout } = await server.stop()
  expect(status).toBe(0)
  expect(stdout).toContain('the packages of OpenTelemetry are not installed')
})

test.each([
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /OTEL_EXPORTER_OTLP_PROTOCOL must be `http\/protobuf`/],
  [{ OTEL_TRACES_SAMPLER: 'sometimes' }, /OTEL_TRACES_SAMPLER must be one of always_on, /],
  [{ OTEL_TRACES_SAMPLER_ARG: '2' }, /OTEL_TRACES_SAMPLER_ARG must be a number, 0 to 1/],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    /OTEL_EXPORTER_OTLP_ENDPOINT must be an address that begins with `http/,
  ],
])('what is not understood is refused by name: %s', (env, words) => {
  expect(() => readConfig(env)).toThrow(words)
})

test('the packages that docs/run-on-a-server.md names are those that are tested', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/run-on-a-server.md'), 'utf8')
  const named = [...page.matchAll(/(@opentelemetry\/[\w-]+)@([\d.]+)/g)].map(([, name, version]) => [name, version])
  const { '@opentelemetry/api': _, ...needed } = Object.fromEntries(
    Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }).filter(([name]) =>
      name.startsWith('@opentelemetry/'),
    ),
  )
  expect(Object.fromEntries(named)).toEqual(needed)
})
