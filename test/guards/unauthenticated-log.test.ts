// Refusals of strangers in the log: so many a second, then how many more.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createUnauthenticatedLog } from '../../src/guards/unauthenticated-log.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('the first of each second are told, the others in one line by code', () => {
  const lines: object[] = []
  const tell = createUnauthenticatedLog({ info: (line) => void lines.push(line) }, 2)
  for (const code of ['a', 'b', 'a', 'a', 'c']) tell({ code }, 'refused')
  expect(lines).toEqual([{ code: 'a' }, { code: 'b' }])
  vi.advanceTimersByTime(1000)
  expect(lines.slice(2)).toEqual([{ refused: 3, codes: { a: 2, c: 1 } }])
  tell({ code: 'd' }, 'refused')
  expect(lines.slice(3)).toEqual([{ code: 'd' }])
})

test('when every refusal was logged, no summary follows and no timer stays', () => {
  const lines: object[] = []
  const tell = createUnauthenticatedLog({ info: (line) => void lines.push(line) }, 2)
  tell({ code: 'a' }, 'refused')
  vi.advanceTimersByTime(5000)
  expect(lines).toEqual([{ code: 'a' }])
  expect(vi.getTimerCount()).toBe(0)
})
