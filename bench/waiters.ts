// 10,000 requests that wait at once: what each costs in memory above an idle connection, and how soon each hears of the end.
import { spawnSync } from 'node:child_process'
import { setTimeout as pass } from 'node:timers/promises'
import { ask, type BenchAccount, createBenchAccount } from './accounts.ts'
import { type Bench, makeFolder, type Row } from './bench.ts'
import { createMemoryReader, type Memory } from './memory.ts'
import { nullInput, type NullModel, writeNullCatalog } from './null-models.ts'
import { connectRaw, type RawAnswer, type RawConnection, toRequest } from './raw-client.ts'
import { type Server, startSpecialMediagen } from './servers.ts'

const waiters = Number(process.env['MEDIAGEN_BENCH_WAITERS'] ?? 10_000)
const connectsAtOnce = 250
const mostBytes = 20_000
const mostSeconds = 2
// The server has taken all requests in when it does next to nothing for so long.
const quietMs = 1000
const quietCpuSeconds = 0.1
const answerTimeoutMs = 90_000
const model: NullModel = { id: 'bench/null/gated', concurrency: 256 }

interface Place {
  readonly server: Server
  readonly account: BenchAccount
  readonly connections: readonly RawConnection[]
  readonly body: string
  readMemory(): Promise<Memory>
}

/** Runs the benchmark. */
export async function benchWaiters(bench: Bench): Promise<readonly Row[]> {
  const files = Number(spawnSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).stdout)
  if (files < waiters + 500) throw new Error(`${waiters} connections need more open files (ulimit -n) than ${files}`)
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  const memory = createMemoryReader()
  const settings = {
    MEDIAGEN_DATA_DIR: dataDir,
    MEDIAGEN_CATALOG: writeNullCatalog(dataDir, [model]),
    MEDIAGEN_MAX_QUEUED_JOBS: '1000000',
    MEDIAGEN_MAX_WAITS_PER_ACCOUNT: '1000000',
    MEDIAGEN_MAX_WAITS: '1000000',
    // All begin to wait at once.
    MEDIAGEN_MAX_QUEUE_MS: '60000',
    // All of them come from one address.
    MEDIAGEN_MAX_CONNECTIONS: '20000',
    MEDIAGEN_MAX_CONNECTIONS_PER_ADDRESS: '20000',
  }
  await using server = await startSpecialMediagen(bench.cores, 'gated-server.ts', settings, {
    flags: ['--expose-gc'],
    preload: ['memory-probe.ts'],
    onLine: memory.onLine,
  })
  const order = { model: model.id, input: nullInput }
  const { quote_id } = JSON.parse(await ask(server.httpUrl, account, '/v1/quotes', order)) as { quote_id: string }
  const connections = await openConnections(Number(new URL(server.httpUrl).port))
  try {
    const place: Place = {
      server,
      account,
      connections,
      body: JSON.stringify({ ...order, quote_id }),
      async readMemory() {
        await untilQuiet(server)
        return await memory.read(server)
      },
    }
    return [
      ...(await measure(place, 'of one job', () => 'the-one')),
      ...(await measure(place, 'each of its own job', (number) => `own-${number}`)),
    ]
  } finally {
    for (const connection of connections) connection.close()
  }
}

/** Connections on which one request was answered. */
async function openConnections(port: number): Promise<readonly RawConnection[]> {
  const connections: RawConnection[] = []
  const request = toRequest('GET', '/healthz', {})
  while (connections.length < waiters) {
    const wave = Math.min(connectsAtOnce, waiters - connections.length)
    const opened = await Promise.all(Array.from({ length: wave }, () => connectRaw(port)))
    await Promise.all(opened.map((connection) => connection.ask(request)))
    connections.push(...opened)
  }
  return connections
}

/** All wait; the gate opens; all are answered; the gate closes. */
async function measure(place: Place, whose: string, toKey: (number: number) => string): Promise<readonly Row[]> {
  const { server, account, connections, body } = place
  const idle = await place.readMemory()
  const answers = connections.map((connection, number) => {
    const headers = { ...account.headers, 'idempotency-key': toKey(number) }
    return connection.ask(toRequest('POST', '/v1/generate?wait=true', headers, body))
  })
  const all = Promise.all(answers)
  // What fails now is told when it is awaited.
  all.catch(() => {})
  const waiting = await place.readMemory()
  server.signal('SIGHUP')
  const late = toLateness(await withTimeout(all))
  server.signal('SIGHUP')
  const [rss, heap] = [
    (waiting.rss - idle.rss) / waiters,
    (waiting.heap + waiting.external - idle.heap - idle.external) / waiters,
  ]
  const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`
  return [
    {
      what: `${waiters} waiters ${whose}: memory each, above an idle connection`,
      value: `${kilobytes(rss)} resident, ${kilobytes(heap)} heap`,
      byCpu: '',
      target: `≤ ${mostBytes / 1000} kB`,
      reached: Math.max(rss, heap) <= mostBytes,
      figures: `idle: ${Math.round(idle.rss / 1e6)} MB resident, ${Math.round(idle.heap / 1e6)} MB heap`,
    },
    {
      what: `${waiters} waiters ${whose}: from the end to the answer`,
      value: `p50 ${late.p50.toFixed(2)} s, last ${late.last.toFixed(2)} s`,
      byCpu: '',
      target: `≤ ${mostSeconds} s`,
      reached: late.last <= mostSeconds,
      figures: `answered over ${late.span.toFixed(2)} s`,
    },
  ]
}

/** Seconds between the end of each job and the arrival of the answer. @throws Error when an answer is no success */
function toLateness(answers: readonly RawAnswer[]): { p50: number; last: number; span: number } {
  const late = answers.map(({ status, body, arrivedAtMs }) => {
    const record = JSON.parse(body) as { status: string; finished_at: string }
    if (status !== 200 || record.status !== 'succeeded') throw new Error(`a waiter was answered ${status}: ${body}`)
    return (arrivedAtMs - Date.parse(record.finished_at)) / 1000
  })
  late.sort((a, b) => a - b)
  const arrivals = answers.map(({ arrivedAtMs }) => arrivedAtMs)
  const span = (arrivals.reduce((a, b) => Math.max(a, b)) - arrivals.reduce((a, b) => Math.min(a, b))) / 1000
  return { p50: late[Math.floor(late.length / 2)] ?? Number.NaN, last: late.at(-1) ?? Number.NaN, span }
}

async function untilQuiet(server: Server): Promise<void> {
  for (let before = server.cpuSeconds(); ;) {
    await pass(quietMs)
    const now = server.cpuSeconds()
    if (!(now - before > quietCpuSeconds)) return
    before = now
  }
}

async function withTimeout<Result>(promise: Promise<Result>): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('not every waiter was answered in time')), answerTimeoutMs)
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
