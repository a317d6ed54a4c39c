// Ctrl-C while a job is made, on a clock that stands still.
import { afterEach, expect, test, vi } from 'vitest'
import { watchInterrupts } from '../../src/cli/user/interrupts.ts'

afterEach(() => vi.useRealTimers())

test('the first Ctrl-C is a wish, its echo is none, and the next one is another', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  using interrupts = watchInterrupts()
  expect(interrupts.requested()).toBe(false)
  const early = vi.fn<() => void>()
  interrupts.onFirst(early)
  process.emit('SIGINT')
  vi.advanceTimersByTime(1000)
  process.emit('SIGINT')
  const late = vi.fn<() => void>()
  interrupts.onFirst(late)
  await Promise.resolve()
  expect([early.mock.calls.length, late.mock.calls.length]).toEqual([1, 1])
  expect([interrupts.requested(), interrupts.again.aborted]).toEqual([true, false])
  vi.advanceTimersByTime(1)
  process.emit('SIGINT')
  expect(interrupts.again.aborted).toBe(true)
})
