// A watch that fails before its first change leaves no listener behind.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createContextValues, type HandlerContext } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import type { ApiKey } from '../../src/core/accounts/key.ts'
import type { Store } from '../../src/core/store.ts'
import { startFeed } from '../../src/feed/feed.ts'
import { callerKey } from '../../src/services/calls/caller.ts'
import { createGenerationService, type GenerationDeps } from '../../src/services/generation.ts'

test('the feed forgets a watch whose input cannot be read', async () => {
  const looked: string[] = []
  let notifications: Parameters<Store['onNotification']>[0] = () => {}
  const feed = startFeed({
    getJob: async (_accountId, jobId) =>
      ({ jobId, sequence: 1, status: 'queued' }) as Awaited<ReturnType<Store['getJob']>>,
    readSequences: async (jobIds) => {
      looked.push(...jobIds)
      return new Map()
    },
    onNotification: (listener) => {
      notifications = listener
      return () => {}
    },
  })
  const store = { getInput: () => Promise.reject(new Error('the database is away')) }
  const deps = { store, feed, watches: { open: () => () => {} }, urls: { forHost: () => null } }
  const { watchJob } = createGenerationService(deps as unknown as GenerationDeps)
  const values = createContextValues().set(callerKey, { accountId: 'acct_a' } as ApiKey)
  const context = { values, signal: new AbortController().signal, requestHeader: new Headers() }
  const changes = watchJob({ jobId: 'job_a' } as Parameters<typeof watchJob>[0], context as unknown as HandlerContext)
  await expect(Array.fromAsync(changes as AsyncIterable<unknown>)).rejects.toThrow('the database is away')
  notifications(null)
  await nextTurn()
  expect(looked).toEqual([])
  feed.stop()
})
