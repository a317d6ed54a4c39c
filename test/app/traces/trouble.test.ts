// P352: a collector that is away, slow or full holds up no request, no job and no stop, and the log says once that traces are lost.
import { expect, test } from 'vitest'
import { createTestAccount, openClient, openCommandLine } from '../../cli/command-line.ts'
import { startTestApp } from '../../test-app.ts'
import { openTestTraces, startCollector } from './collector.ts'

const model = 'test/nothing/text-to-image'

test('while a collector fails, its trouble is reported once, and so is its end', async () => {
  await using collector = await startCollector()
  const told: (string | null)[] = []
  await using app = await startTestApp({}, { traces: openTestTraces(collector, {}, (reason) => told.push(reason)) })
  const sends = async () => {
    const before = collector.requests.length
    expect((await app.send('/v1/wallet')).status).toBe(200)
    await expect.poll(() => collector.requests.length).toBeGreaterThan(before)
  }
  collector.behave = 400
  await sends()
  await expect.poll(() => told.length).toBe(1)
  await sends()
  await sends()
  collector.behave = 'well'
  await sends()
  await expect.poll(() => told).toEqual([expect.any(String), null])
})

test('a collector that never answers holds up neither requests and jobs nor the stop of the process', async () => {
  await using collector = await startCollector()
  collector.behave = 'silent'
  await using line = openCommandLine({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/here`,
    OTEL_BSP_SCHEDULE_DELAY: '10',
    // Far longer than this test may take.
    OTEL_EXPORTER_OTLP_TIMEOUT: '3600000',
  })
  const { key } = await createTestAccount(line)
  const server = await line.serve()
  const { generate } = openClient(server.httpUrl, key)
  for (let n = 0; n < 3; n++)
    expect((await generate(model, { prompt: 'x' }, true)).body).toMatchObject({ status: 'succeeded' })
  await expect.poll(() => collector.requests.length).toBeGreaterThan(0)
  expect(collector.requests[0]?.path).toBe('/here')
  expect((await server.stop()).status).toBe(0)
})

test('a collector that is away is named in the log once, without its headers', async () => {
  await using line = openCommandLine({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20very-secret',
    OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    OTEL_BSP_SCHEDULE_DELAY: '10',
    MEDIAGEN_LOG_LEVEL: 'info',
  })
  const { key } = await createTestAccount(line)
  const server = await line.serve()
  let log = ''
  server.process.stdout?.on('data', (text: string) => (log += text))
  const { generate } = openClient(server.httpUrl, key)
  expect((await generate(model, { prompt: 'x' }, true)).body).toMatchObject({ status: 'succeeded' })
  await expect.poll(() => log).toContain('traces are lost')
  for (let n = 0; n < 3; n++) await generate(model, { prompt: 'x' }, true)
  const { status, stdout } = await server.stop()
  expect(status).toBe(0)
  expect(stdout.split('\n').filter((text) => text.includes('traces are lost'))).toHaveLength(1)
  expect(stdout).not.toContain('very-secret')
})

test('a process that cannot send what waits drops it, in a bounded queue', async () => {
  await using collector = await startCollector()
  const traces = openTestTraces(collector)
  const many = 10_000
  // None can be sent meanwhile.
  for (let n = 0; n < many; n++) traces.open('span').end()
  await traces.close()
  // What the queue holds, and the batch that left it.
  await expect.poll(() => collector.spans.length).toBe(2048 + 512)
})
