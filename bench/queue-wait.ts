// How long a job waits for its engine: while nothing else is there, and while another account has 100,000 jobs queued.
import { setTimeout as pass } from 'node:timers/promises'
import { ask, type BenchAccount, createBenchAccount } from './accounts.ts'
import { type Bench, makeFolder, type Row } from './bench.ts'
import { nullCredits, nullInput, type NullModel, writeNullCatalog } from './null-models.ts'
import { seedJobs } from './seed.ts'
import { type Insight, type Server, startSpecialMediagen } from './servers.ts'
import type { Begun } from './timed-server.ts'

const probes = 250
// Long enough for the account to be new to the queue again, and not in step with the runs.
const leastPauseMs = 20
const mostPauseMs = 40
const settleMs = 2000
const othersJobs = 100_000
const beginTimeoutMs = 10_000
const idle: NullModel = { id: 'bench/null/idle', concurrency: 4 }
// The usual number of slots of a machine with two processors, and runs that last: one of them ends every 5 ms or so.
const busy: NullModel = { id: 'bench/null/busy', concurrency: 4, delayMs: 20 }

/** Runs the benchmark. */
export async function benchQueueWait(bench: Bench): Promise<readonly Row[]> {
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  const other = await createBenchAccount(dataDir)
  seedJobs(dataDir, {
    accountId: other.accountId,
    jobs: othersJobs,
    succeeded: 0,
    credits: nullCredits,
    model: busy.id,
    input: nullInput,
  })
  return [
    toWaitRow('queue wait, nothing else there', 10, await measure(bench, makeFolder(bench), idle)),
    toWaitRow('queue wait, 100,000 jobs of another account', 50, await measure(bench, dataDir, busy, account)),
  ]
}

async function measure(bench: Bench, dataDir: string, model: NullModel, known?: BenchAccount): Promise<number[]> {
  const account = known ?? (await createBenchAccount(dataDir))
  const settings = { MEDIAGEN_DATA_DIR: dataDir, MEDIAGEN_CATALOG: writeNullCatalog(dataDir, [idle, busy]) }
  return measureWaits(model, account, (insight) =>
    startSpecialMediagen(bench.cores, 'timed-server.ts', settings, insight),
  )
}

/**
 * Milliseconds from sending the start of each probe to the begin of its run.
 * @param start starts what serves and runs the model; a line for each begin goes to its insight
 */
export async function measureWaits(
  model: NullModel,
  account: BenchAccount,
  start: (insight: Insight) => Promise<Server>,
): Promise<number[]> {
  const begins = new Map<string, bigint>()
  const onLine = (line: string): void => {
    if (!line.startsWith('{"begun"')) return
    const { begun, at } = JSON.parse(line) as Begun
    begins.set(begun, BigInt(at))
  }
  await using server = await start({ onLine })
  await pass(settleMs)
  const order = { model: model.id, input: nullInput }
  const { quote_id } = JSON.parse(await ask(server.httpUrl, account, '/v1/quotes', order)) as { quote_id: string }
  const probe = () => waitOfOne(server, account, { ...order, quote_id }, begins)
  // The first requests of a client and of a server cost more than all others.
  for (let count = 0; count < 20; count++) await probe()
  const waits: number[] = []
  for (let count = 0; count < probes; count++) {
    await pass(leastPauseMs + Math.random() * (mostPauseMs - leastPauseMs))
    waits.push(await probe())
  }
  return waits
}

async function waitOfOne(
  { httpUrl }: Server,
  account: BenchAccount,
  body: object,
  begins: ReadonlyMap<string, bigint>,
): Promise<number> {
  const sentAt = process.hrtime.bigint()
  const { job_id: jobId } = JSON.parse(await ask(httpUrl, account, '/v1/generate', body)) as { job_id: string }
  const lastAt = performance.now() + beginTimeoutMs
  for (let begin = begins.get(jobId); ; begin = begins.get(jobId)) {
    if (begin !== undefined) return Number(begin - sentAt) / 1e6
    if (performance.now() > lastAt) throw new Error(`${jobId} did not begin`)
    await pass(2)
  }
}

/** The row of such waits. */
export function toWaitRow(what: string, targetMs: number, waits: readonly number[]): Row {
  const sorted = waits.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
  return {
    what,
    value: `p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms`,
    byCpu: '',
    target: `p99 ≤ ${targetMs} ms`,
    reached: at(0.99) <= targetMs,
    figures: `${waits.length} starts, from sending to the engine; longest ${at(1).toFixed(1)} ms`,
  }
}
