// What an edit is charged by never comes to more than what is held for it, whatever the operations.
import { builtinCatalog } from '@mediagen/builtin/catalog.ts'
import { workOfEncoding, workOfOpening, workOfOperation } from '@mediagen/builtin/edit/work.ts'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadCatalog } from '../../src/catalog/load.ts'
import { priceUsage } from '../../src/catalog/prices/pricing.ts'
import { kinds } from './kinds.ts'

const model = loadCatalog(builtinCatalog, kinds).find(({ id }) => id === 'builtin/image/art/edit')

const operation = fc.constantFrom<readonly [string, JsonValue]>(
  ['crop', { left: 0, top: 0, width: 1, height: 1 }],
  ['resize', { position: 'center' }],
  ['resize', { position: 'attention' }],
  ['rotate', { angle: 90 }],
  ['rotate', { angle: 1 }],
  ['flip', 'both'],
  ['blur', 1],
  ['blur', 200],
  ['sharpen', 10],
  ['grayscale', true],
  ['tint', '#b08d57'],
  ['adjust', { brightness: 1.1 }],
  ['text', { text: 'x' }],
)

test('the work of an edit is within what was quoted for the megapixels that it may have', () => {
  const edits = fc.record({
    megapixels: fc.integer({ min: 1, max: 50 }),
    operations: fc.array(fc.tuple(operation, fc.double({ min: 0.1, max: 1, noNaN: true })), { maxLength: 16 }),
    format: fc.constantFrom('png', 'jpeg', 'webp', 'avif'),
    side: fc.integer({ min: 16, max: 4096 }),
    quality: fc.integer({ min: 1, max: 100 }),
  })
  fc.assert(
    fc.property(edits, ({ megapixels, operations, format, side, quality }) => {
      // Square pictures, each as large as the last operation left it.
      const sizeOf = (share: number) => ({
        width: Math.sqrt(megapixels * 1e6 * share),
        height: Math.sqrt(megapixels * 1e6 * share),
      })
      let work = workOfOpening(sizeOf(1))
      let before = sizeOf(1)
      for (const [[name, settings], share] of operations) {
        const after = sizeOf(share)
        work += workOfOperation(name, settings, before, after)
        before = after
      }
      const out = Math.min(side, before.width)
      work += workOfEncoding(format, quality, { width: out, height: out })
      const named: JsonObject[] = operations.map(([[name, settings]]) => ({ [name]: settings }))
      const input = { image: 'x', operations: named, megapixels, max_width: side, max_height: side, format }
      const price = model?.usagePrice(input)
      expect(price && priceUsage(price, { work })).toBeLessThanOrEqual(model?.quotedPrice(input) ?? 0)
    }),
  )
})
