// Whether reports of usage and lists of jobs by label take longer with many jobs stored (MEDIAGEN_BENCH_JOBS, 1,000,000 when nothing is
// said) than with a thousand: at the store, the longest report there is among them, a year by everything.
import { rmSync } from 'node:fs'
import { openStore } from '../src/app/store/store.ts'
import type { JobStatus } from '../src/core/jobs/job.ts'
import type { Label } from '../src/core/jobs/labels.ts'
import type { Store } from '../src/core/store.ts'
import { type BenchAccount, createBenchAccount } from './accounts.ts'
import { type Bench, makeFolder, type Row } from './bench.ts'
import { readOwnCpuSeconds } from './process-cpu.ts'
import { seedJobs } from './seed.ts'

const manyJobs = Number(process.env['MEDIAGEN_BENCH_JOBS'] ?? 1_000_000)
const fewJobs = 1000
const dayMs = 86_400_000
const mostMs = 300
const reads = 15
const pageSize = 100
const team: Label = { name: 'team', value: 'team-7' }
const shop: Label = { name: 'shop', value: 'all' }

type Read = (store: Store, accountId: string) => Promise<{ readonly items: readonly unknown[] }>

/** What is read, by its name. */
const pages: Readonly<Record<string, Read>> = {
  'usage of a year by day, model, key and label': readUsage(365),
  'usage of a month by day, model, key and label': readUsage(30),
  'jobs of a team, of forty, first page': readLabelled(team, 0),
  'jobs of a shop, of one, first page': readLabelled(shop, 0),
  'jobs of a shop, of one, last page': readLabelled(shop, manyJobs - pageSize),
  'jobs of a team, of forty, that failed': readLabelled(team, 0, 'failed'),
  'jobs of a shop, of one, that failed': readLabelled(shop, 0, 'failed'),
  'jobs of a shop, of one, that succeeded': readLabelled(shop, 0, 'succeeded'),
}

/** Runs the benchmark. */
export async function benchUsage(bench: Bench): Promise<readonly Row[]> {
  const [few, many] = [await makePlace(bench, fewJobs), await makePlace(bench, manyJobs)]
  try {
    const rows: Row[] = []
    for (const [what, read] of Object.entries(pages)) {
      const [base, { ms, cpuMs }] = [await time(few, read), await time(many, read)]
      rows.push({
        what: `${what}, ${manyJobs.toLocaleString('en')} jobs stored`,
        value: `${ms.toFixed(1)} ms`,
        byCpu: `${cpuMs.toFixed(1)} ms`,
        target: `≤ ${mostMs} ms`,
        // Other work on the machine counts by the clock.
        reached: Math.min(ms, cpuMs) <= mostMs,
        figures: `medians of ${reads}; with ${fewJobs.toLocaleString('en')} jobs ${base.ms.toFixed(1)} ms; a ratio of ${(ms / base.ms).toFixed(1)}, by processor time ${(cpuMs / base.cpuMs).toFixed(1)}`,
      })
    }
    return rows
  } finally {
    // Other benchmarks may follow, and gigabytes need not wait for them.
    rmSync(many.dataDir, { recursive: true, force: true })
  }
}

interface Place {
  readonly dataDir: string
  readonly account: BenchAccount
}

async function makePlace(bench: Bench, jobs: number): Promise<Place> {
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  seedJobs(dataDir, { accountId: account.accountId, jobs, succeeded: jobs, labelled: true })
  return { dataDir, account }
}

/** The medians of some reads, in milliseconds: by the clock, and of processor time. */
async function time({ dataDir, account: { accountId } }: Place, read: Read): Promise<Taken> {
  await using store = await openStore({ dataDir })
  await read(store, accountId)
  const taken: Taken[] = []
  for (let count = 0; count < reads; count++) {
    const [begun, cpu] = [performance.now(), readOwnCpuSeconds()]
    await read(store, accountId)
    taken.push({ ms: performance.now() - begun, cpuMs: 1000 * (readOwnCpuSeconds() - cpu) })
  }
  return { ms: median(taken.map(({ ms }) => ms)), cpuMs: median(taken.map(({ cpuMs }) => cpuMs)) }
}

interface Taken {
  readonly ms: number
  readonly cpuMs: number
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function readUsage(days: number): Read {
  return (store, accountId) => {
    const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
    const [from, to] = [day(Date.now() - days * dayMs), day(Date.now())]
    const groups = ['day', 'model', 'key', 'label:team'] as const
    return store.listUsage({ accountId, from, to, groups, limit: pageSize, offset: 0 })
  }
}

function readLabelled(label: Label, offset: number, status: JobStatus | null = null): Read {
  const all = { model: null, idempotencyKey: null, search: null, withDeleted: false, limit: pageSize }
  return (store, accountId) => store.listJobs({ ...all, accountId, status, label, offset: Math.max(0, offset) })
}
