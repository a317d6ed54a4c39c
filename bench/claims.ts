// Whether a claim and the end of a job cost more when 1,000,000 jobs have succeeded before: against none, at the store.
import { openStore } from '../src/app/store/store.ts'
import type { ClaimedJob } from '../src/core/jobs/job.ts'
import type { Store } from '../src/core/store.ts'
import { createBenchAccount, order } from './accounts.ts'
import { type Bench, makeFolder, type Row, toRow } from './bench.ts'
import { readOwnCpuSeconds } from './process-cpu.ts'
import { compare, type Side } from './rounds.ts'
import { seedJobs } from './seed.ts'

const finishedJobs = 1_000_000
// More than all rounds can claim.
const queuedJobs = 100_000
const least = 0.9
const pairs = 7
const roundSeconds = 0.8
const jobsAClaim = 8
const leaseMs = 600_000

type ClaimStore = Pick<Store, 'claimJobs' | 'finishJob'>

/** Runs the benchmark. */
export async function benchClaims(bench: Bench): Promise<readonly Row[]> {
  const [few, many] = [await seed(bench, 0), await seed(bench, finishedJobs)]
  await using fewStore = await openStore({ dataDir: few })
  await using manyStore = await openStore({ dataDir: many })
  const found = await compare(toClaimSide(fewStore), toClaimSide(manyStore), pairs, roundSeconds)
  return [toRow('claim and end, 1,000,000 jobs finished before : none', least, found)]
}

async function seed(bench: Bench, succeeded: number): Promise<string> {
  const dataDir = makeFolder(bench)
  const { accountId } = await createBenchAccount(dataDir)
  seedJobs(dataDir, { accountId, jobs: succeeded + queuedJobs, succeeded })
  return dataDir
}

/** A unit of work is a job that is claimed, with some others, and ended. */
export function toClaimSide(store: ClaimStore): Side {
  const claim = { worker: 'bench', room: { [order.model]: jobsAClaim }, limit: jobsAClaim, leaseMs }
  const end = ({ job, token }: ClaimedJob) =>
    store.finishJob(job.jobId, token, { status: 'succeeded', outputs: [], creditsActual: job.creditsHeld })
  return {
    async fire(seconds) {
      const until = performance.now() + seconds * 1000
      let ended = 0
      while (performance.now() < until) {
        const claimed = await store.claimJobs(claim)
        if (claimed.length < jobsAClaim) throw new Error('there was nothing left to claim')
        await Promise.all(claimed.map(end))
        ended += claimed.length
      }
      return ended
    },
    cpuSeconds: readOwnCpuSeconds,
  }
}
