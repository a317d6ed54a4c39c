// Seeds that the server chooses, so that records can say which one it was (P362).
import { expect, test } from 'vitest'
import { createModel } from '../../src/catalog/create-model.ts'
import type { CatalogEntry } from '../../src/catalog/entry.ts'
import { createSchemaCompiler } from '../../src/catalog/schema.ts'
import { readSeed } from '../../src/catalog/seed.ts'
import { paintEntry } from './paint-entry.ts'

const schemas = createSchemaCompiler([])

function modelOf(properties: object, reproducibleAs: string | null = null) {
  const input = { type: 'object', properties: { prompt: { type: 'string' }, ...properties } }
  const entry: CatalogEntry = { ...paintEntry, modality: 'image', input: JSON.parse(JSON.stringify(input)) }
  return createModel(entry, '/models.yaml', schemas, new Map(), { reproducibleAs })
}

/** The input of a run. */
function complete(model: ReturnType<typeof modelOf>, sent: Record<string, number | string> = {}) {
  const checked = model.checkInput(sent)
  if (!checked.ok) throw new Error('not valid')
  return model.completeSeed(sent, checked.input)
}

test.each([
  [{ seed: { type: 'integer', minimum: 5, maximum: 6 } }, 'seed', 5, 6],
  [{ seed: { type: 'integer', minimum: 0, maximum: 4_294_967_295 } }, 'seed', 0, 2_147_483_647],
  [{ seed: { type: 'integer', default: -1 } }, 'seed', 0, 2_147_483_647],
  [{ noise_seed: { type: ['integer', 'null'], default: null } }, 'noise_seed', 0, 2_147_483_647],
])('of %j one is chosen by chance, within its bounds', (properties, name, least, most) => {
  const model = modelOf(properties)
  const seeds = Array.from({ length: 50 }, () => readSeed(complete(model)) as number)
  expect(new Set(seeds).size).toBeGreaterThan(1)
  for (const seed of seeds) expect(seed >= least && seed <= most).toBe(true)
  expect(Object.keys(complete(model))).toContain(name)
})

test.each([
  ['a schema has chosen one', { seed: { type: 'integer', default: 0 } }, {}, 0],
  ['a client has chosen one', { seed: { type: 'integer' } }, { seed: 9 }, 9],
  ['a client has asked for any', { seed: { type: 'integer' } }, { seed: -1 }, null],
  ['a seed is a text', { seed: { type: 'string' } }, {}, null],
  ['no seed is allowed that is not negative', { seed: { type: 'integer', maximum: -5 } }, {}, null],
  ['there is none', {}, {}, null],
])('none is chosen if %s', (_what, properties, sent, seed) => {
  expect(readSeed(complete(modelOf(properties), sent))).toBe(seed)
})

test('none is chosen for an engine that makes equal files of equal inputs', () => {
  expect(complete(modelOf({ seed: { type: 'integer' } }, '1'), { prompt: 'x' })).toEqual({ prompt: 'x' })
})
