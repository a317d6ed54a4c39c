// Which request repeats an earlier one (P255).
import { expect, test } from 'vitest'
import { createAttempts } from '../../src/openai/attempts.ts'

function createFixture() {
  const clock = { ms: 1_000_000 }
  const attempts = createAttempts(() => clock.ms)
  const begin = (digest = 'a', bytes = 10, account = 'acct_a') =>
    attempts.begin({ account, digest }, Promise.resolve({ base: 'x', maxCredits: 1, count: 1, input: {} }), bytes)
  const join = (digest: string, isRetry: boolean) => attempts.join({ account: 'acct_a', digest }, isRetry)
  return { clock, attempts, begin, join }
}

test('an equal request is a new one, also while the earlier waits and after it was answered', () => {
  const { attempts, begin, join } = createFixture()
  const first = begin()
  expect(join('a', false)).toBeNull()
  attempts.end(first, true)
  expect(join('a', false)).toBeNull()
})

test.each([null, true, false])('a repeated request joins the earlier one, once (answered: %s)', (answered) => {
  const { attempts, begin, join } = createFixture()
  const first = begin()
  if (answered !== null) attempts.end(first, answered)
  expect(join('b', true)).toBeNull()
  expect(join('a', true)).toBe(first)
  expect(join('a', true)).toBeNull()
})

test('an equal request joins one that got no answer, once', () => {
  const { attempts, begin, join } = createFixture()
  const [lost] = [begin(), begin()]
  attempts.end(lost, false)
  expect(join('a', false)).toBe(lost)
  expect(join('a', false)).toBeNull()
})

test('a repeated request joins one that got no answer before any other', () => {
  const { attempts, begin, join } = createFixture()
  const [lost, waiting, done] = [begin(), begin(), begin()]
  attempts.end(lost, false)
  attempts.end(done, true)
  expect([1, 2, 3, 4].map(() => join('a', true))).toEqual([lost, waiting, done, null])
})

test('ten minutes after it began, or after its client hung up, a request is not joined', () => {
  const { clock, attempts, begin, join } = createFixture()
  const first = begin()
  clock.ms += 600_000
  attempts.end(first, false)
  clock.ms += 600_001
  expect(join('a', false)).toBeNull()
  begin()
  clock.ms += 600_001
  expect(join('a', true)).toBeNull()
})

test('a request whose start was refused is forgotten', async () => {
  const { attempts, join } = createFixture()
  const refusal = Promise.reject(new Error('refused'))
  attempts.begin({ account: 'acct_a', digest: 'a' }, refusal, 10)
  await refusal.catch(() => {})
  await Promise.resolve()
  expect(join('a', true)).toBeNull()
})

test('each new request of a period has a number of its own', () => {
  const { attempts } = createFixture()
  expect([1, 1, 2].map((period) => attempts.takeOrdinal('a', period))).toEqual([0, 1, 0])
  expect(attempts.takeOrdinal('b', 1)).toBe(0)
})

test.each([
  ['different', (index: number) => `${index}`],
  ['equal', () => 'a'],
])('what it keeps of %s large requests is bounded: the oldest are forgotten', (_what, name) => {
  const { begin, join } = createFixture()
  const begun = Array.from({ length: 100 }, (_, index) => begin(name(index), 1_048_576))
  const joined = begun.flatMap((_, index) => join(name(index), true) ?? [])
  expect(joined.length).toBeGreaterThan(60)
  expect(joined.length).toBeLessThanOrEqual(64)
  expect(joined).toContain(begun.at(-1))
  expect(joined).not.toContain(begun[0])
})

test.each([
  ['large', 100, 1_048_576],
  ['many', 20_000, 1],
])('%s requests of one account make the server forget nothing of another', (_what, count, bytes) => {
  const { attempts, begin, join } = createFixture()
  const lost = begin('of another')
  attempts.end(lost, false)
  for (let index = 0; index < count; index++) begin(`${index}`, bytes, 'acct_flood')
  expect(join('of another', false)).toBe(lost)
  expect(attempts.join({ account: 'acct_flood', digest: '0' }, true)).toBeNull()
})
