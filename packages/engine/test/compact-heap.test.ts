// Collecting after a start is a help, and never a reason to stop.
import type * as V8 from 'node:v8'
import { setFlagsFromString } from 'node:v8'
import { expect, test, vi } from 'vitest'
import { compactHeap } from '../src/compact-heap.ts'

vi.mock('node:v8', async (load) => ({
  ...(await load<typeof V8>()),
  setFlagsFromString: vi.fn(),
  // The heap of this process may be too large to be compacted.
  getHeapStatistics: () => ({ total_heap_size: 0 }),
}))

test('nothing happens where V8 does not hand out its collector', () => {
  compactHeap()
  expect(setFlagsFromString).toHaveBeenCalledOnce()
})
