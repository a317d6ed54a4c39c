// How often the catalog asks engines whether models are ready.
import type { Engine } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import { createCatalog } from '../../src/catalog/catalog.ts'
import type { Model } from '../../src/catalog/model.ts'

test.each([
  [20, 5000],
  [1500, 5000],
  [10_000, 30_000],
])('%i models are checked again after %i ms, so that questions do not keep a server busy', async (count, ms) => {
  let nowMs = 1_000_000
  let checks = 0
  const engine = {
    unready: () => {
      checks += 1
      return Promise.resolve(null)
    },
  } as unknown as Engine
  const models = Array.from(
    { length: count },
    (_, i) => ({ id: `m${i}`, aliases: [], engine: { kind: 'any' } }) as unknown as Model,
  )
  const catalog = createCatalog(models, new Map([['any', engine]]), { nowMs: () => nowMs })
  await catalog.checkEngines()
  nowMs += ms - 1
  expect(catalog.ready()).toHaveLength(count)
  expect(checks).toBe(count)
  nowMs += 1
  catalog.ready()
  expect(checks).toBe(2 * count)
  await catalog.checkEngines()
})
