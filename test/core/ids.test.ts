// Ids: prefixed, unique, and their text order is the order of time (P30).
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createIdSource, isId } from '../../src/core/ids.ts'

test('an id is its prefix and 26 digits of Crockford base32, lower case', () => {
  const ids = createIdSource(() => 0, randomBytes)
  for (const prefix of ['job', 'acct', 'key', 'entry'] as const) {
    const id = ids.next(prefix)
    expect(id).toMatch(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`))
    expect(isId(prefix, id)).toBe(true)
  }
})

test('ids sort by time: a later millisecond is a later text, over a thousand years', () => {
  let nowMs = 0
  const ids = createIdSource(() => nowMs, randomBytes)
  const made: string[] = []
  for (nowMs = 1; nowMs < 32_000_000_000_000; nowMs = Math.ceil(nowMs * 1.5)) made.push(ids.next('job'))
  expect(made.toSorted()).toEqual(made)
})

test('ids of one millisecond keep the order in which they were made, however many there are', () => {
  const ids = createIdSource(() => 1_763_000_000_000, randomBytes)
  const made = Array.from({ length: 20_000 }, () => ids.next('job'))
  expect(made.toSorted()).toEqual(made)
  expect(new Set(made).size).toBe(made.length)
})

test('a clock that goes back does not turn the order', () => {
  let nowMs = 2000
  const ids = createIdSource(() => nowMs, randomBytes)
  const first = ids.next('job')
  nowMs = 1000
  expect(ids.next('job') > first).toBe(true)
})

test('an id carries its time and is a UUIDv7', () => {
  const nowMs = 1_763_654_400_123
  const id = createIdSource(
    () => nowMs,
    () => new Uint8Array(8).fill(0xff),
  ).next('job')
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
  let value = 0n
  for (const digit of id.slice('job_'.length)) value = value * 32n + BigInt(alphabet.indexOf(digit))
  expect(value >> 80n).toBe(BigInt(nowMs))
  expect((value >> 76n) & 0xfn).toBe(7n)
  expect((value >> 62n) & 3n).toBe(2n)
})

test.each([
  '',
  'job_',
  'job_short',
  'acct_01jd0000000000000000000000',
  'job_01JD0000000000000000000000',
  'job_01jd00000000000000000000i0',
])('%j is no id of a job', (text) => {
  expect(isId('job', text)).toBe(false)
})
