// Runs the store's sweep about once a second: lost workers, deadlines, retries, reviews.
import type { Logger } from 'pino'
import { everySecond } from '../core/every-second.ts'
import { leadMs } from '../core/jobs/leader.ts'
import { createRound } from '../core/round.ts'
import type { Store } from '../core/store.ts'

// One sweep is one transaction, and starts wait for it.
const jobsPerSweep = 200

/** What the sweeper needs. */
export interface SweeperDeps {
  readonly store: Pick<Store, 'needsSweep' | 'lead' | 'sweep'>
  readonly leaseMs: number
  readonly reviewMs: number
  readonly log: Logger
  /** 0 … 1, the jitter of retries. */
  readonly random: () => number
}

/** A running sweeper. */
export interface Sweeper {
  stop(): Promise<void>
}

/** Starts a sweeper, which sweeps while this process leads. It needs no engine. */
export function startSweeper({ store, leaseMs, reviewMs, log, random }: SweeperDeps): Sweeper {
  let stopped = false

  async function sweep(): Promise<void> {
    // Nothing is written while there is nothing to do, not even who leads.
    if (!(await store.needsSweep({ leaseMs, reviewMs })) || !(await store.lead(leadMs))) return
    const { more, ...done } = await store.sweep({ leaseMs, reviewMs, limit: jobsPerSweep, random: random() })
    if (Object.values(done).some((jobs) => jobs > 0)) log.info(done, 'swept')
    if (more && !stopped) sweeping.again()
  }

  const sweeping = createRound(sweep, (error) => log.error({ err: error }, 'jobs could not be swept'))
  const stopLooking = everySecond(() => sweeping.again())
  sweeping.again()
  return {
    async stop() {
      stopped = true
      stopLooking()
      await sweeping.settled()
    },
  }
}
