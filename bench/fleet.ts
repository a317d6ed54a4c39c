// Many processes on one PostgreSQL: complete jobs against the queues that people would pick there, starts with more and more
// processes, how long jobs wait for four workers, and claims, starts and lists when a million jobs are stored.
import { join } from 'node:path'
import { openPostgresStore } from '../src/storage/postgres/open.ts'
import { createPostgresTables } from '../src/storage/postgres/tables.ts'
import { openSqliteTables } from '../src/storage/sqlite/tables.ts'
import { transfer } from '../src/storage/transfer.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../test/storage/postgres-server.ts'
import { type BenchAccount, createBenchAccount, order, quoteStart } from './accounts.ts'
import { type Bench, type Benchmark, makeFolder, type Row, toRow } from './bench.ts'
import { toClaimSide } from './claims.ts'
import { toAllCores } from './cores.ts'
import { fireHttp } from './http-load.ts'
import { toJobSide } from './jobs.ts'
import { nullInput, type NullModel, writeNullCatalog } from './null-models.ts'
import { watchPostgres } from './postgres-cpu.ts'
import { measureWaits, toWaitRow } from './queue-wait.ts'
import { toRivalSide } from './rivals.ts'
import { compare, toSpread } from './rounds.ts'
import { seedJobs } from './seed.ts'
import { type Server, startBaseline, startMediagen, startSpecialMediagen } from './servers.ts'
import { compareLists, compareStarts } from './stored.ts'

const plain: NullModel = { id: 'bench/null/plain', concurrency: 256 }
const idle: NullModel = { id: 'bench/null/idle', concurrency: 4 }
const pairs = 3
const roundSeconds = 2.5
const startSeconds = 3
const finishedJobs = Number(process.env['MEDIAGEN_BENCH_JOBS'] ?? 1_000_000)
const queuedJobs = 60_000
const unlimited = { MEDIAGEN_MAX_QUEUED_JOBS: '1000000000' }

/** Its parts, each with a server of its own. */
export const fleetBenchmarks: Readonly<Record<string, Benchmark>> = {
  'fleet-jobs': onPostgres(async (bench, postgres) => [
    await race(bench, postgres, 'complete jobs : pg-boss with a ledger, same PostgreSQL', 'rival-pg-boss.ts', 2),
    await race(bench, postgres, 'complete jobs : Graphile Worker, the same', 'rival-graphile.ts', 1.5),
  ]),
  'fleet-starts': onPostgres(benchStarts),
  'fleet-wait': onPostgres(async (...args) => [await benchWait(...args)]),
  'fleet-growth': onPostgres(benchGrowth),
}

function onPostgres(run: (bench: Bench, postgres: PostgresServer) => Promise<readonly Row[]>): Benchmark {
  return async (bench) => {
    if (!hasPostgres)
      return [{ what: 'fleet', value: 'not measured', byCpu: '', target: '', reached: false, figures: 'no PostgreSQL' }]
    await using postgres = await startPostgres('durable')
    return await run(bench, postgres)
  }
}

/** An installation of its own: a database, an account, and the settings of its processes. */
async function createInstallation(bench: Bench, postgres: PostgresServer, models: readonly NullModel[]) {
  const databaseUrl = await postgres.createDatabase()
  const account = await createBenchAccount(makeFolder(bench), databaseUrl)
  const toSettings = (): Record<string, string> => {
    const dataDir = makeFolder(bench)
    return {
      MEDIAGEN_DATA_DIR: dataDir,
      MEDIAGEN_DATABASE_URL: databaseUrl,
      MEDIAGEN_CATALOG: writeNullCatalog(dataDir, models),
      ...unlimited,
    }
  }
  return { databaseUrl, account, toSettings }
}

/** One process on each side; what PostgreSQL does for it counts. */
async function race(
  bench: Bench,
  postgres: PostgresServer,
  what: string,
  program: string,
  least: number,
): Promise<Row> {
  const { account, toSettings } = await createInstallation(bench, postgres, [plain])
  const cpu = await watchPostgres(postgres.url, bench.cores)
  await using rival = await startBaseline(bench.cores, program, await postgres.createDatabase())
  await using server = await startMediagen(bench.cores, toSettings())
  const ours = await toJobSide({ server, account }, plain)
  return toRow(what, least, await compare(cpu.with(toRivalSide(rival)), cpu.with(ours), pairs, roundSeconds))
}

/** Starts a second with 1, 2 and 4 processes that only start jobs. */
async function benchStarts(bench: Bench, postgres: PostgresServer): Promise<Row[]> {
  const rows: Row[] = []
  await watchPostgres(postgres.url, bench.cores)
  for (const processes of [1, 2, 4]) {
    const { account, toSettings } = await createInstallation(bench, postgres, [plain])
    await using servers = await startAll(processes, () =>
      startMediagen(toAllCores(bench.cores), { ...toSettings(), MEDIAGEN_ROLES: 'api' }),
    )
    const fire = async (seconds: number): Promise<number> => {
      const started = await Promise.all(servers.list.map((server) => start(server, account, seconds)))
      return started.reduce((sum, count) => sum + count, 0)
    }
    await fire(1)
    const perSecond: number[] = []
    for (let round = 0; round < pairs; round++) perSecond.push((await fire(startSeconds)) / startSeconds)
    const { median, min, max } = toSpread(perSecond)
    rows.push({
      what: `starts on PostgreSQL with ${processes} API process${processes > 1 ? 'es' : ''}`,
      value: `${Math.round(median)}/s (${Math.round(min)}–${Math.round(max)})`,
      byCpu: '',
      target: '',
      reached: true,
      figures: 'all processes, the database and the load share the cores of the machine',
    })
  }
  return rows
}

async function start({ httpUrl }: Server, account: BenchAccount, seconds: number): Promise<number> {
  const request = await quoteStart(httpUrl, account, { model: plain.id, input: nullInput })
  return fireHttp(httpUrl, request, seconds)
}

/** Servers that end together. */
async function startAll(count: number, startOne: () => Promise<Server>) {
  const list = await Promise.all(Array.from({ length: count }, startOne))
  return {
    list,
    async [Symbol.asyncDispose]() {
      for (const server of list) await server[Symbol.asyncDispose]()
    },
  }
}

/** From sending a start to the begin of its run in one of four workers, while nothing else is there. */
async function benchWait(bench: Bench, postgres: PostgresServer): Promise<Row> {
  const { account, toSettings } = await createInstallation(bench, postgres, [idle])
  await watchPostgres(postgres.url, bench.cores)
  const waits = await measureWaits(idle, account, async (insight) => {
    const api = await startMediagen(toAllCores(bench.cores), { ...toSettings(), MEDIAGEN_ROLES: 'api' })
    const workers = await startAll(4, () =>
      startSpecialMediagen(
        toAllCores(bench.cores),
        'timed-server.ts',
        { ...toSettings(), MEDIAGEN_ROLES: 'worker' },
        insight,
      ),
    )
    return {
      ...api,
      async [Symbol.asyncDispose]() {
        await workers[Symbol.asyncDispose]()
        await api[Symbol.asyncDispose]()
      },
    }
  })
  return toWaitRow('queue wait on PostgreSQL, four workers, nothing else there', 50, waits)
}

/** Jobs are stored in SQLite by bulk SQL, and moved. */
async function benchGrowth(bench: Bench, postgres: PostgresServer): Promise<Row[]> {
  const open = async (succeeded: number) => {
    const dataDir = makeFolder(bench)
    const { accountId } = await createBenchAccount(dataDir)
    seedJobs(dataDir, { accountId, jobs: succeeded + queuedJobs, succeeded, model: order.model })
    const url = await postgres.createDatabase()
    {
      await using from = openSqliteTables(join(dataDir, 'mediagen.db'))
      await using to = await createPostgresTables(url)
      await transfer(from, to)
    }
    return { store: await openPostgresStore({ url }), accountId }
  }
  const few = await open(0)
  const many = await open(finishedJobs)
  await using _few = few.store
  await using _many = many.store
  const cpu = await watchPostgres(postgres.url, bench.cores)
  const stored = `on PostgreSQL, ${finishedJobs.toLocaleString('en')} jobs finished before`
  const claims = await compare(cpu.with(toClaimSide(few.store)), cpu.with(toClaimSide(many.store)), 7, 0.8)
  return [
    toRow(`claim and end ${stored} : none`, 0.9, claims),
    await compareStarts(few, many, stored, cpu.with),
    ...(await compareLists(few, many, stored, finishedJobs / 2, cpu.with)),
  ]
}
