// Histograms counted in plain numbers read exactly as prom-client's do.
import { Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createTimes } from '../../src/app/times.ts'

const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 180]

test('a histogram reads as that of prom-client', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const [name, help, label] = ['x_seconds', 'How long x took', 'operation']
  const time = createTimes(ours, label, name, help)
  const histogram = new Histogram({ name, help, labelNames: [label], buckets: bounds, registers: [theirs] })
  time('never')
  for (const operation of ['get', 'put']) {
    const record = time(operation)
    for (const seconds of [0, 0, ...bounds, 0.0007, 200, 1e9]) {
      record(seconds)
      histogram.labels(operation).observe(seconds)
    }
  }
  expect(await ours.metrics()).toBe(await theirs.metrics())
})

test('what records one operation in several places counts together', async () => {
  const registry = new Registry()
  const time = createTimes(registry, 'operation', 'x_seconds', 'How long x took')
  const [first, second] = [time('get'), time('get')]
  first(1)
  second(2)
  time('get')(3)
  first(4)
  const text = await registry.metrics()
  expect(text).toContain('x_seconds_count{operation="get"} 4')
  expect(text).toContain('x_seconds_sum{operation="get"} 10')
})
