// The life of a model: its version, its end, and its successor, as the catalog has them. docs/catalog.md, A model.
import type { Engine } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import { createCatalog } from '../../src/catalog/catalog.ts'
import { describeEnd, findEnd } from '../../src/catalog/lifetime.ts'
import type { Model } from '../../src/catalog/model.ts'

const day = 86_400_000
const shutdownAtMs = Date.UTC(2026, 11, 1)
const life = { version: null, released: null, shutdownDate: '2026-12-01', replacedBy: 'acme/paint-2' }

test('an end is noticed for its last sixty days, and is over from midnight UTC of its day on', () => {
  const at = (nowMs: number) => findEnd(life, nowMs)
  expect(at(shutdownAtMs - 60 * day - 1)).toBeNull()
  expect(at(shutdownAtMs - 60 * day)).toEqual({
    deprecatedAtMs: shutdownAtMs - 60 * day,
    shutdownAtMs,
    isOver: false,
    replacedBy: 'acme/paint-2',
  })
  expect(at(shutdownAtMs - 1)?.isOver).toBe(false)
  expect(at(shutdownAtMs)?.isOver).toBe(true)
  expect(findEnd({ ...life, shutdownDate: null }, shutdownAtMs)).toBeNull()
})

test('an end in words names its day and the successor', () => {
  const words = (nowMs: number, more = {}) => {
    const end = findEnd({ ...life, ...more }, nowMs)
    return end && describeEnd(end)
  }
  expect(words(shutdownAtMs - 1)).toBe('ends on 2026-12-01; use acme/paint-2')
  expect(words(shutdownAtMs, { replacedBy: null })).toBe('ended on 2026-12-01')
})

test('a model that ends while the server runs is no longer ready, whatever its engine says', async () => {
  let nowMs = shutdownAtMs - 1
  const engine = { unready: async () => null } as unknown as Engine
  const model = { id: 'a', aliases: [], engine: { kind: 'any' }, ...life } as unknown as Model
  const catalog = createCatalog([model], new Map([['any', engine]]), { nowMs: () => nowMs })
  await catalog.checkEngines()
  expect(catalog.unready(model)).toBeNull()
  expect(catalog.ready()).toEqual([model])
  nowMs += 1
  expect(catalog.unready(model)).toBe('it ended on 2026-12-01; use acme/paint-2')
  await catalog.checkEngines()
  expect(catalog.ready()).toEqual([])
})
