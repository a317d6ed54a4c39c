// Values of a binary message are counted as those of the same message in JSON, and within the bytes that a decoder would read.
import { create, fromBinary, type JsonObject, toBinary } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { CreateKeyRequestSchema } from '../../gen/mediagen/v1/admin_pb.ts'
import { CreateQuoteRequestSchema } from '../../gen/mediagen/v1/quotes_pb.ts'
import { countJsonValues } from '../../src/guards/json-values.ts'
import { countWireValues } from '../../src/rpc/grpc/wire-values.ts'

const most = 1_000_000
const count = (bytes: Uint8Array) => countWireValues(CreateQuoteRequestSchema, bytes, most)

test('a request holds as many values over gRPC as in JSON', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })),
      fc.string({ minLength: 1 }),
      (input, model) => {
        const message = create(CreateQuoteRequestSchema, { model, input: input as JsonObject })
        const json = Buffer.from(JSON.stringify({ model, input }))
        expect(count(toBinary(CreateQuoteRequestSchema, message))).toBe(countJsonValues(json, most))
      },
    ),
    { seed: 8, numRuns: 300 },
  )
})

test('bytes that decode were counted: as many values as came of them, or more', () => {
  const request = create(CreateQuoteRequestSchema, {
    model: 'm',
    input: { a: [1, { b: [null, 'x'] }], c: true },
  })
  const bytes = toBinary(CreateQuoteRequestSchema, request)
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
      (flips) => {
        const altered = Uint8Array.from(bytes)
        for (const [at, byte] of flips) altered[at] = byte
        let message
        try {
          message = fromBinary(CreateQuoteRequestSchema, altered)
        } catch {
          return
        }
        const { model, input = {} } = message
        let counted
        try {
          counted = count(altered)
        } catch (error) {
          // Stricter than the decoder, which goes by the field alone.
          expect(error).toBeInstanceOf(RangeError)
          return
        }
        expect(counted).toBeGreaterThanOrEqual(countJsonValues(Buffer.from(JSON.stringify({ model, input })), most) - 2)
      },
    ),
    { seed: 8, numRuns: 2000 },
  )
})

test('packed fields count by their bytes, and counting ends once there are too many', () => {
  const keys = create(CreateKeyRequestSchema, { accountId: 'a', permissions: [1, 2, 3, 4] })
  expect(countWireValues(CreateKeyRequestSchema, toBinary(CreateKeyRequestSchema, keys), most)).toBe(3 + 4)
  const long = create(StructSchema, {
    fields: Object.fromEntries(
      Array.from({ length: 1000 }, (_, i) => [`k${i}`, { kind: { case: 'boolValue' as const, value: true } }]),
    ),
  })
  expect(countWireValues(StructSchema, toBinary(StructSchema, long), 10)).toBeLessThan(20)
})

test('what JSON may nest, a message may nest: 50 levels of objects', () => {
  const input = Array.from({ length: 49 }).reduce<JsonObject>((inner) => ({ inner }), {})
  const bytes = toBinary(CreateQuoteRequestSchema, create(CreateQuoteRequestSchema, { input }))
  expect(count(bytes)).toBe(51)
  expect(fromBinary(CreateQuoteRequestSchema, bytes).input).toEqual(input)
})
