// Expired files are removed although others cannot be, and the log says so in few lines.
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { startExpiry } from '../../src/files/expiry.ts'
import { createHeldClock } from '../storage/fixture.ts'
import { openTestStore } from '../test-store.ts'

test('450 folders that cannot be removed delay no other, are tried once, and take a line a round', async () => {
  const clock = createHeldClock()
  await using store = await openTestStore(clock)
  const { accountId } = await store.createAccount('a', 0)
  const ids = Array.from({ length: 455 }, (_, index) => `file_${String(index).padStart(26, '0')}`)
  for (const fileId of ids) {
    const file = {
      fileId,
      accountId,
      key: `${fileId}/0.png`,
      contentType: 'image/png',
      bytes: 1,
      sha256: 'f'.repeat(64),
      retainMs: 1000,
    }
    await store.createUpload(file, 1e9)
  }
  clock.ms += 60_000
  // The first to expire cannot be removed.
  const stuck = new Set(ids.slice(0, 450))
  const tried: string[] = []
  const removed: string[] = []
  const folders = {
    async *list() {},
    async remove(name: string) {
      tried.push(name)
      if (stuck.has(name)) throw new Error('the disk is on fire')
      removed.push(name)
    },
  }
  const lines: { level: number; folders?: number; msg: string }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const expiry = startExpiry({ store, folders, retainMs: 1000, keepJobsMs: null, log })
  await expect.poll(() => removed.toSorted()).toEqual(ids.slice(450))
  await expect.poll(() => store.hasExpired()).toBe(false)
  await expiry.stop()
  expect(tried.length).toBe(455)
  const errors = lines.filter(({ level }) => level >= 50)
  expect(errors.length).toBeLessThanOrEqual(3)
  expect(errors.reduce((sum, { folders: count = 0 }) => sum + count, 0)).toBe(450)
})
