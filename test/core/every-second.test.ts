// What is looked at once a second shares one timer, so that an idle process wakes up once.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { everySecond } from '../../src/core/every-second.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('all are called together, each until it stops', () => {
  const calls: string[] = []
  const stopFirst = everySecond(() => calls.push('first'))
  vi.advanceTimersByTime(400)
  const stopSecond = everySecond(() => calls.push('second'))
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(600)
  expect(calls).toEqual(['first', 'second'])
  stopFirst()
  vi.advanceTimersByTime(1000)
  expect(calls).toEqual(['first', 'second', 'second'])
  stopSecond()
  expect(vi.getTimerCount()).toBe(0)
})

test('a function that is given twice stops one at a time', () => {
  const look = vi.fn()
  const stops = [everySecond(look), everySecond(look)]
  stops[0]?.()
  vi.advanceTimersByTime(1000)
  expect(look).toHaveBeenCalledTimes(1)
  stops[1]?.()
})
