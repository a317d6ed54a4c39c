// What counts as a second wish to stop, on a clock that stands still.
import { afterEach, expect, test, vi } from 'vitest'
import { stopSignal } from '../../src/cli/serve.ts'
import { noteListeners } from './run-main.ts'

const forget = [noteListeners(process, 'SIGTERM'), noteListeners(process, 'SIGINT')]
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  forget.forEach((each) => each())
})

test('a second signal ends the process at once, unless it is an echo of the first', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as () => never)
  const stopped = stopSignal()
  process.emit('SIGINT')
  await stopped
  vi.advanceTimersByTime(1000)
  process.emit('SIGINT')
  expect(exit).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  process.emit('SIGTERM')
  expect(exit).toHaveBeenCalledExactlyOnceWith(1)
})
