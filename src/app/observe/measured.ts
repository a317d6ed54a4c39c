// Times the store and the files for operators, and counts the leases that were lost.
import type { Store } from '../../core/store.ts'
import type { Blobs } from '../../files/blobs/blobs.ts'
import type { Metrics, Timer } from './metrics.ts'

const storeOperations = [
  'startGeneration',
  'getJob',
  'listJobs',
  'claimJobs',
  'heartbeat',
  'saveCheckpoint',
  'finishJob',
  'sweep',
  'claimDeliveries',
  'reportDelivery',
  'takeTokens',
  'check',
] as const

const fileOperations = ['put', 'putFiles', 'stat', 'open', 'copyTo', 'delete'] as const

/** The same store, with its usual operations timed. What waits in it is shown, too. */
export function measureStore<Given extends Store>(store: Given, metrics: Metrics): Given {
  metrics.showBacklog(store.measureBacklog)
  // From zero, so that the first ones count as an increase.
  for (const noticedBy of ['leader', 'worker'] as const) metrics.countLostLeases(noticedBy, 0)
  const counting = {
    ...store,
    async sweep(command: Parameters<Store['sweep']>[0]) {
      const swept = await store.sweep(command)
      metrics.countLostLeases('leader', swept.requeued + swept.failed + swept.reviewed)
      return swept
    },
    async heartbeat(...args: Parameters<Store['heartbeat']>) {
      const outcome = await store.heartbeat(...args)
      metrics.countLostLeases('worker', outcome.lost.length)
      return outcome
    },
  }
  return timed(counting, storeOperations, metrics.timeStore)
}

/** The same files, with their operations timed. */
export function measureBlobs(blobs: Blobs, metrics: Pick<Metrics, 'timeFiles'>): Blobs {
  return timed(blobs, fileOperations, metrics.timeFiles)
}

function timed<Part extends object>(part: Part, operations: readonly (keyof Part & string)[], time: Timer): Part {
  const copy = { ...part }
  for (const operation of operations) {
    const work = part[operation] as (...args: unknown[]) => Promise<unknown>
    const record = time(operation)
    const timedWork = async (...args: unknown[]): Promise<unknown> => {
      const began = performance.now()
      try {
        return await work(...args)
      } finally {
        record((performance.now() - began) / 1000)
      }
    }
    copy[operation] = timedWork as Part[typeof operation]
  }
  return copy
}
