import { expect, test } from 'vitest'
import { shareFlushes } from '../../../src/files/blobs/shared-flushes.ts'

function openFlushes() {
  const begun: { folder: string; end: PromiseWithResolvers<void> }[] = []
  const flush = shareFlushes((folder) => {
    const end = Promise.withResolvers<void>()
    begun.push({ folder, end })
    return end.promise
  })
  return { begun, flush }
}

test('a call during a flush waits for one that begins afterwards, and shares it', async () => {
  const { begun, flush } = openFlushes()
  const first = flush('a')
  const late = [flush('a'), flush('a')]
  void flush('b')
  expect(begun.map(({ folder }) => folder)).toEqual(['a', 'b'])
  begun[0]?.end.resolve()
  await first
  await expect.poll(() => begun.length).toBe(3)
  let done = false
  const all = Promise.all(late).then(() => (done = true))
  // Somebody else's flush of this folder has ended, and that is not enough.
  await first
  expect(done).toBe(false)
  begun[2]?.end.resolve()
  await all
  expect(begun).toHaveLength(3)
})

test('a failure reaches those who share the flush, and nobody later', async () => {
  const { begun, flush } = openFlushes()
  const first = flush('a')
  const second = flush('a')
  begun[0]?.end.reject(new Error('the disk is full'))
  await expect(first).rejects.toThrow('the disk is full')
  await expect.poll(() => begun.length).toBe(2)
  begun[1]?.end.resolve()
  await second
  void flush('a')
  expect(begun).toHaveLength(3)
})
