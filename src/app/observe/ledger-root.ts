// Writes the root of the ledger to the log once a day: with a copy of the log elsewhere, nobody can write the ledger anew unnoticed.
import type { Logger } from 'pino'
import { leadMs } from '../../core/jobs/leader.ts'
import { createRound } from '../../core/round.ts'
import type { Store } from '../../core/store.ts'

const lookMs = 3_600_000
const dayMs = 86_400_000

export interface LedgerRootDeps {
  readonly store: Pick<Store, 'readLedgerRoot' | 'lead' | 'nowMs'>
  readonly log: Logger
}

/** Creates a function that logs the root, unless it did on this day (in UTC), or another process leads. */
export function createLedgerRootLog({ store, log }: LedgerRootDeps): () => Promise<void> {
  let lastDay = -1
  return async () => {
    const day = Math.floor(store.nowMs() / dayMs)
    if (day === lastDay || !(await store.lead(leadMs))) return
    log.info(await store.readLedgerRoot(), 'root of the ledger')
    lastDay = day
  }
}

/** Logs the root now and once a day, as long as this process leads. */
export function startLedgerRootLog(deps: LedgerRootDeps): { stop(): Promise<void> } {
  const round = createRound(createLedgerRootLog(deps), (error) =>
    deps.log.error({ err: error }, 'the root of the ledger could not be read'),
  )
  const timer = setInterval(() => round.again(), lookMs)
  round.again()
  return {
    async stop() {
      clearInterval(timer)
      await round.settled()
    },
  }
}
