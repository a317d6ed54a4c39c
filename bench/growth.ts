// Whether quoting, starting, claiming and listing cost more when many jobs are stored (MEDIAGEN_BENCH_JOBS, 200,000 when nothing is
// said; 5,000,000 take about 7 GB): a full database against an empty one.
import { rmSync } from 'node:fs'
import { openStore } from '../src/app/store/store.ts'
import { type BenchAccount, createBenchAccount, order, quoteStart } from './accounts.ts'
import { type Bench, makeFolder, type Row, toRow } from './bench.ts'
import { fireHttp } from './http-load.ts'
import { readOwnCpuSeconds } from './process-cpu.ts'
import { compare, type Side } from './rounds.ts'
import { seedJobs } from './seed.ts'
import { type Server, startMediagen } from './servers.ts'
import { compareLists } from './stored.ts'

const storedJobs = Number(process.env['MEDIAGEN_BENCH_JOBS'] ?? 200_000)
const stored = `${storedJobs.toLocaleString('en')} jobs stored`
const least = 0.9
const pairs = 7
const claimsARound = 250
const jobsAClaim = 4
const leaseMs = 600_000

interface Place {
  readonly dataDir: string
  readonly account: BenchAccount
}

/** Runs the benchmark. */
export async function benchGrowth(bench: Bench): Promise<readonly Row[]> {
  const empty = await makePlace(bench)
  const full = await makePlace(bench)
  try {
    seedJobs(full.dataDir, { accountId: full.account.accountId, jobs: storedJobs, succeeded: storedJobs / 2 })
    return [
      ...(await compareServers(bench, empty, full)),
      await compareClaims(empty, full),
      ...(await comparePages(empty, full)),
    ]
  } finally {
    // Other benchmarks may follow, and gigabytes need not wait for them.
    rmSync(full.dataDir, { recursive: true, force: true })
  }
}

async function makePlace(bench: Bench): Promise<Place> {
  const dataDir = makeFolder(bench)
  return { dataDir, account: await createBenchAccount(dataDir) }
}

async function compareServers(bench: Bench, empty: Place, full: Place): Promise<readonly Row[]> {
  const start = ({ dataDir }: Place): Promise<Server> =>
    startMediagen(bench.cores, {
      MEDIAGEN_DATA_DIR: dataDir,
      MEDIAGEN_ROLES: 'api',
      MEDIAGEN_MAX_QUEUED_JOBS: '1000000000',
    })
  await using few = await start(empty)
  await using many = await start(full)
  const quotes = await compare(toQuoteSide(few, empty), toQuoteSide(many, full))
  const starts = await compare(await toStartSide(few, empty), await toStartSide(many, full))
  return [
    toRow(`POST /v1/quotes, ${stored} : none`, least, quotes),
    toRow(`POST /v1/generate, ${stored} : none`, least, starts),
  ]
}

function toQuoteSide(server: Server, { account }: Place): Side {
  const request = { method: 'POST', path: '/v1/quotes', headers: account.headers, body: order } as const
  return { fire: (seconds) => fireHttp(server.httpUrl, request, seconds), cpuSeconds: () => server.cpuSeconds() }
}

async function toStartSide(server: Server, { account }: Place): Promise<Side> {
  const request = await quoteStart(server.httpUrl, account, order)
  return { fire: (seconds) => fireHttp(server.httpUrl, request, seconds), cpuSeconds: () => server.cpuSeconds() }
}

/** Claims are made by workers, not over HTTP: here they are made on the store, one after the other. */
async function compareClaims(empty: Place, full: Place): Promise<Row> {
  await using few = await openStore(empty)
  await using many = await openStore(full)
  const toSide = (store: typeof few): Side => ({
    async fire() {
      let claimed = 0
      for (let round = 0; round < claimsARound; round++) {
        const jobs = await store.claimJobs({
          worker: 'bench',
          room: { [order.model]: jobsAClaim },
          limit: jobsAClaim,
          leaseMs,
        })
        claimed += jobs.length
      }
      if (claimed === 0) throw new Error('there was nothing to claim')
      return claimed
    },
    cpuSeconds: readOwnCpuSeconds,
  })
  return toRow(`claims, ${stored} : few`, least, await compare(toSide(few), toSide(many), pairs))
}

/** Pages at the store. */
async function comparePages(empty: Place, full: Place): Promise<readonly Row[]> {
  await using few = await openStore(empty)
  await using many = await openStore(full)
  const { accountId } = full.account
  return await compareLists(
    { store: few, accountId: empty.account.accountId },
    { store: many, accountId },
    stored,
    storedJobs / 2,
  )
}
