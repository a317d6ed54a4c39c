// Complete jobs a second through REST: started without waiting, each with its own Idempotency-Key, until all have ended.
import { setTimeout as pass } from 'node:timers/promises'
import { ask, type BenchAccount, createBenchAccount, quoteStart } from './accounts.ts'
import { type Bench, makeFolder, type Row } from './bench.ts'
import { fireHttp } from './http-load.ts'
import { nullInput, type NullModel, writeNullCatalog } from './null-models.ts'
import { measure, type Round, type Side, toSpread } from './rounds.ts'
import { type Server, startMediagen } from './servers.ts'

interface Effort {
  readonly rounds: number
  /** How long jobs are started in a round, which ends when all of them have ended. */
  readonly seconds: number
}
const usual: Effort = { rounds: 3, seconds: 3 }
// Jobs with a picture are started a hundred times as fast as they end.
const pictures = 1000
const little: Effort = { rounds: 1, seconds: 3 }
const pollMs = 20
const drainMs = 60_000
const plain: NullModel = { id: 'bench/null/plain', concurrency: 256 }
const withPicture: NullModel = { id: 'bench/null/picture', concurrency: 32, picture: true }

/** Runs the benchmark. */
export async function benchJobs(bench: Bench): Promise<readonly Row[]> {
  await using place = await startJobServer(bench)
  return [
    await measureJobs('complete jobs through REST', await toJobSide(place, plain), usual),
    await measureJobs(
      'the same, each with a checked and stored PNG',
      await toJobSide(place, withPicture, pictures),
      little,
    ),
  ]
}

/** A server with both roles and models that make nothing, and an account there. */
export interface JobServer extends AsyncDisposable {
  readonly server: Server
  readonly account: BenchAccount
}

/** Starts one. */
export async function startJobServer(bench: Bench): Promise<JobServer> {
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  const server = await startMediagen(bench.cores, {
    MEDIAGEN_DATA_DIR: dataDir,
    MEDIAGEN_CATALOG: writeNullCatalog(dataDir, [plain, withPicture]),
    MEDIAGEN_MAX_QUEUED_JOBS: '1000000000',
  })
  return { server, account, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** Starts jobs for so long, or so many, then waits until the last has ended; a unit of work is a complete job. */
export async function toJobSide(
  { server, account }: Omit<JobServer, typeof Symbol.asyncDispose>,
  { id }: NullModel = plain,
  amount?: number,
): Promise<Side> {
  const request = await quoteStart(server.httpUrl, account, { model: id, input: nullInput })
  return {
    async fire(seconds) {
      const started = await fireHttp(server.httpUrl, request, seconds, amount)
      await untilNone(() => countOpen(server, account))
      return started
    },
    cpuSeconds: () => server.cpuSeconds(),
  }
}

/** Waits until there is nothing left. @throws Error when that takes too long */
export async function untilNone(count: () => Promise<number>): Promise<void> {
  const lastAt = performance.now() + drainMs
  for (let left = await count(); left > 0; left = await count()) {
    if (performance.now() > lastAt) throw new Error(`${left} jobs have not ended`)
    await pass(pollMs)
  }
}

async function countOpen({ httpUrl }: Server, account: BenchAccount): Promise<number> {
  let open = 0
  for (const status of ['queued', 'running', 'failed']) {
    const page = JSON.parse(await ask(httpUrl, account, `/v1/jobs?status=${status}&limit=1`)) as { total: number }
    if (status === 'failed' && page.total > 0) throw new Error(`${page.total} jobs failed`)
    open += page.total
  }
  return open
}

async function measureJobs(what: string, side: Side, { rounds, seconds }: Effort): Promise<Row> {
  await side.fire(seconds)
  const found: Round[] = []
  for (let round = 0; round < rounds; round++) found.push(await measure(side, seconds))
  const spread = toSpread(found.map(({ perSecond }) => perSecond))
  const { median, min, max } = spread
  const cpuMicros = toSpread(found.map((round) => round.cpuMicros)).median
  const busy = toSpread(found.map((round) => round.busy)).median
  return {
    what,
    value: `${Math.round(median)}/s (${Math.round(min)}–${Math.round(max)})`,
    byCpu: '',
    target: '',
    reached: true,
    figures: `${Math.round(cpuMicros)} µs of processor a job, ${Math.round(busy * 100)} % busy`,
    bars: [{ name: '', spread, target: null, unit: '/s' }],
  }
}
