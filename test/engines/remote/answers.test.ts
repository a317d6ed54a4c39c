// What a provider says is bounded: its words are hidden, cut and matched in linear time, its JSON is looked through before it is
// parsed, and its numbers are usage only as far as a price can name them.
import { describe, expect, test } from 'vitest'
import { readCost, readRawCost } from '../../../src/engines/remote/backends/ai-sdk-cost.ts'
import { findFiles, toNumbers } from '../../../src/engines/remote/media/outputs.ts'
import { createQuote } from '../../../src/engines/remote/quote.ts'
import { readJson } from '../../../src/engines/remote/short-json.ts'
import { createSecrets } from '../../../src/engines/secrets.ts'

describe('words', () => {
  const secrets = createSecrets({ KEY: 'k3y-of-the-provider' })
  secrets.valueOf('KEY')
  const quote = createQuote(secrets.hide)

  // The old expression needs minutes for each of these.
  test.each(['https://', 'http://a', 'https://x ', '?https://'])(
    'a megabyte of %j is quoted in linear time',
    (part) => {
      expect(quote(part.repeat(1024 ** 2 / part.length)).length).toBeLessThanOrEqual(501)
    },
  )

  test('queries of URLs are left out, and what follows stays', () => {
    const words = 'see <https://a.test/x?key=1&b=2> and http://b.test/y?z, "https://c.test/" end?'
    expect(quote(words)).toBe('see <https://a.test/x> and http://b.test/y "https://c.test/" end?')
  })

  test.each([480, 500, 128 * 1024 - 5])('no part of a key is shown where words are cut: %i', (before) => {
    for (const filler of ['x', ' ', 'https://a?'])
      expect(quote(`${filler.repeat(before).slice(0, before)}k3y-of-the-provider`)).not.toContain('k3y')
  })

  test('no control or bidirectional character is shown', () => {
    expect(quote('a\u001B[31m\u009Bb\u202Ec\u2028d')).toBe('a [31m b c d')
  })
})

describe('JSON', () => {
  test.each([
    ['objects', `[${'{},'.repeat(1_000_000)}{}]`],
    ['numbers', `[${'1,'.repeat(1_000_000)}1]`],
    ['members', `{${Array.from({ length: 150_000 }, (_, i) => `"m${i}":1`).join(',')}}`],
    ['quotes', `["${'\\"'.repeat(1_000_000)}"]`],
    ['digits', `{"x":${'1'.repeat(5_000_000)}}`],
    ['spaces', `{"x":${' '.repeat(5_000_000)}1}`],
    ['levels', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ])('too many %s are not parsed', (_, text) => {
    expect(readJson(Buffer.from(text))).toBeUndefined()
  })

  test('a long string is cheap, whatever it contains', () => {
    const value = { b64_json: 'A'.repeat(2_000_000), said: '{[,:'.repeat(200_000), end: 'a\\', more: '\\"' }
    expect(readJson(Buffer.from(`\n ${JSON.stringify(value)}`))).toEqual(value)
  })

  test('what is neither a list nor an object, or is broken, is no answer', () => {
    for (const text of ['', '   ', 'null', '"x"', 'RIFF', '{"a":', '["']) expect(readJson(Buffer.from(text))).toBeNull()
  })
})

test('a name of a field is matched in linear time', () => {
  // The old expression needs minutes.
  expect(findFiles({ [`${'text'.repeat(100_000)}\n`]: { url: 'https://a.test/x' } })).toEqual([])
})

test('only a hundred numbers that a price can name are usage', () => {
  const said = JSON.parse(
    '{"constructor":1,"__proto__":2,"toString":3,"images":4,"a-b":5,"minus":-1,"text":"6","predict_time":7.5}',
  )
  expect(toNumbers(said)).toEqual({ predict_time: 7.5 })
  expect(Object.keys(toNumbers(Object.fromEntries(Array.from({ length: 9999 }, (_, i) => [`m${i}`, i]))))).toHaveLength(
    100,
  )
})

test('what something costs is a number from 0', () => {
  for (const number of ['1e999', '-1', '"2"', 'null'])
    for (const json of [
      `{"costInUsdTicks":${number}}`,
      `{"videos":[{"cost":${number}}]}`,
      `{"usage":{"cost_in_usd_ticks":${number}}}`,
    ])
      expect([readCost(JSON.parse(json)), readRawCost(JSON.parse(json))]).toEqual([null, null])
  expect(readCost({ costInUsdTicks: 0 })).toMatchObject({ amount: 0, currency: 'USD' })
})
