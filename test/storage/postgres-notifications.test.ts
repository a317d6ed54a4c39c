// Notifications between stores on one PostgreSQL: how soon they arrive, and which of them call workers to the queue.
import { describe, expect, test, vi } from 'vitest'
import type { JobNotification } from '../../src/core/store.ts'
import type { Database } from '../../src/storage/postgres/connection.ts'
import { openNotifications } from '../../src/storage/postgres/notifications.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import { claimOne, startJob, type TestStore } from './fixture.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres } from './postgres-server.ts'

/** The next notification of jobs. One without jobs says that the store has begun to listen. */
async function nextNotification(store: TestStore): Promise<readonly JobNotification[]> {
  const { promise, resolve } = Promise.withResolvers<readonly JobNotification[]>()
  const ignore = store.onNotification((jobs) => jobs && resolve(jobs))
  const received = await promise
  ignore()
  return received
}

test('a notification that is slow to be sent is not overtaken by the next one', async () => {
  const { promise: first, resolve: sent } = Promise.withResolvers<void>()
  const payloads: unknown[] = []
  const rows = async (_: string, values: object = {}) => {
    payloads.push((values as { payload?: string }).payload)
    await first
    return []
  }
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const notifications = await openNotifications({ rows } as Pick<Database, 'rows'>, null, 'a')
    for (const jobId of ['1', '2', '3']) {
      notifications.publish([{ jobId, job: null, queued: false }], [])
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(payloads).toEqual(['a 1'])
    sent()
    await vi.advanceTimersByTimeAsync(1000)
    await notifications.close()
    expect(payloads).toEqual(['a 1', 'a 2,3'])
  } finally {
    vi.useRealTimers()
  }
})

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const { createDatabase } = useServer()

  test('the first notification is sent at once, and only a job that comes into the queue is marked as queued', async () => {
    const url = await createDatabase()
    await using one = await openPostgresStore({ url })
    await using other = await openPostgresStore({ url })
    const { accountId } = await one.createAccount('a', 1000)
    // No time passes, so nothing that is sent later arrives.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const started = nextNotification(other)
      const { jobId } = await startJob(one, accountId)
      expect(await started).toEqual([{ jobId, job: null, queued: true }])
      const claimed = nextNotification(one)
      await claimOne(other)
      expect(await claimed).toEqual([{ jobId, job: null, queued: false }])
    } finally {
      vi.useRealTimers()
    }
  })

  test('what a transaction changes is sent together', async () => {
    const url = await createDatabase()
    await using one = await openPostgresStore({ url })
    await using other = await openPostgresStore({ url })
    const { accountId } = await one.createAccount('a', 1000)
    const received: (readonly JobNotification[] | null)[] = []
    const { promise: all, resolve } = Promise.withResolvers<void>()
    other.onNotification((jobs) => {
      received.push(jobs)
      if (received.flat().length === 6) resolve()
    })
    const starts = Array.from({ length: 3 }, () => startJob(one, accountId))
    const jobIds = (await Promise.all(starts)).map(({ jobId }) => jobId)
    for (const jobId of jobIds) await one.requestCancel(accountId, jobId)
    await all
    expect(received[0]).toEqual(jobIds.map((jobId) => ({ jobId, job: null, queued: true })))
    expect(new Set(received.slice(1).flat())).toEqual(
      new Set(jobIds.map((jobId) => ({ jobId, job: null, queued: false }))),
    )
  })
})
