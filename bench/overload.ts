// Three times as many quotes as the server can make, and as many as thousands of clients can ask for: how long the answered ones
// take, how soon the others hear, whether /healthz is still answered, and how soon all is well when the load has gone.
import { setTimeout as pass } from 'node:timers/promises'
import { type BenchAccount, createBenchAccount } from './accounts.ts'
import { type Bench, type Line, makeFolder, type Row, type Timeline } from './bench.ts'
import { sendOpenLoad, type TimedAnswer } from './open-load.ts'
import { toRequest } from './raw-client.ts'
import { toSpread } from './rounds.ts'
import { type Server, startMediagen } from './servers.ts'

const times = 3
const model = 'builtin/video/kenburns/image-to-video'

/** What is asked, and how often. */
interface Load {
  readonly what: string
  readonly pictureBytes: number
  /** Null: every connection asks again as soon as it is answered. */
  readonly times: number | null
  /** Share of the capacity that is to be answered meanwhile. */
  readonly leastAnswered: number
}
// From one core three times as many small quotes as another answers cannot be sent, so there as many are sent as come back.
const loads: readonly Load[] = [
  { what: `quotes of 20 kB at ${times} times the capacity`, pictureBytes: 20_000, times, leastAnswered: 0.1 },
  {
    what: 'small quotes from 4000 clients that ask again at once',
    pictureBytes: 20,
    times: null,
    leastAnswered: 0.3,
  },
]
const seconds = 8
const capacityRounds = 9
// Of the load, the first second and a half: the queue is only becoming long.
const settlingMs = 1500
// One request at a time on each, as most clients do.
const connections = 4000
const depth = 1
const healthPauseMs = 100
const targetMs = 1000
const recoveryTargetMs = 1000
// What is drawn as one point, and for how long the load that the server can bear goes on afterwards.
const stepMs = 100
const afterSeconds = 1
const bearable = { perSecond: 100, connections: 10, depth: 1 }

/** Runs the benchmark. */
export async function benchOverload(bench: Bench): Promise<readonly Row[]> {
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  await using server = await startMediagen(bench.cores, {
    MEDIAGEN_DATA_DIR: dataDir,
    MEDIAGEN_ROLES: 'api',
    MEDIAGEN_MAX_CONNECTIONS_PER_ADDRESS: '1000000',
  })
  const rows: Row[] = []
  for (const load of loads) rows.push(...(await measure(server, account, load)))
  return rows
}

async function measure(server: Server, account: BenchAccount, load: Load): Promise<Row[]> {
  const port = Number(new URL(server.httpUrl).port)
  const order = { model, input: { image: `data:image/png;base64,${'A'.repeat(load.pictureBytes)}` } }
  const request = toRequest('POST', '/v1/quotes', account.headers, JSON.stringify(order))
  const capacity = await measureCapacity(port, request)

  const watch = new AbortController()
  const health = watchHealth(server, watch.signal)
  // What the load itself says is said first.
  health.catch(() => {})
  const before = { serverSeconds: server.cpuSeconds(), client: process.cpuUsage(), atMs: performance.now() }
  const perSecond = load.times && load.times * capacity
  const { startMs, answers } = await sendOpenLoad({ port, request, perSecond, seconds, connections, depth })
  const busyForMs = performance.now() - before.atMs
  const serverBusy = (server.cpuSeconds() - before.serverSeconds) / (busyForMs / 1000)
  const { user, system } = process.cpuUsage(before.client)
  const clientBusy = (user + system) / 1000 / busyForMs
  const endMs = startMs + seconds * 1000
  const recovery = await untilServed(port, request, endMs)
  const after = await sendOpenLoad({ port, request, ...bearable, seconds: afterSeconds })
  watch.abort()
  const checks = await health
  const healthMs = checks.map(({ ms }) => ms)

  const settled = answers.filter(({ dueMs }) => dueMs >= startMs + settlingMs)
  const [accepted, shed] = [settled.filter(isAccepted), settled.filter((answer) => !isAccepted(answer))]
  const lastMs = settled.reduce((last, { answeredMs }) => Math.max(last, answeredMs), 0)
  const toRate = ({ length }: readonly TimedAnswer[]): number =>
    Math.round(length / ((lastMs - startMs - settlingMs) / 1000))
  return [
    {
      what: `${load.what}: answered`,
      value: `p50 ${at(accepted, 0.5)} ms, p99 ${at(accepted, 0.99)} ms`,
      byCpu: '',
      target: `p99 ≤ ${targetMs} ms`,
      reached: at(accepted, 0.99) <= targetMs,
      figures: `longest ${at(accepted, 1)} ms`,
      timeline: toTimeline(load.what, startMs, capacity, [...answers, ...recovery.answers, ...after.answers], checks),
    },
    {
      what: 'answered, of what it can without overload',
      value: toPercent(toRate(accepted) / capacity),
      byCpu: '',
      target: `≥ ${toPercent(load.leastAnswered)}`,
      reached: toRate(accepted) >= load.leastAnswered * capacity,
      figures: `${toRate(accepted)}/s of ${Math.round(capacity)}/s`,
    },
    {
      what: 'the others: 503',
      value: shed.length === 0 ? 'none' : `p50 ${at(shed, 0.5)} ms, p99 ${at(shed, 0.99)} ms`,
      byCpu: '',
      target: `Retry-After, p99 ≤ ${targetMs} ms`,
      reached: shed.every(({ retryAfter }) => retryAfter) && !(at(shed, 0.99) > targetMs),
      figures: `${toRate(shed)}/s; statuses ${[...new Set(answers.map(({ status }) => status))].join(', ')}; server ${toPercent(serverBusy)} busy, client ${toPercent(clientBusy)}`,
    },
    {
      what: '/healthz meanwhile',
      value: `longest ${Math.round(Math.max(...healthMs))} ms`,
      byCpu: '',
      target: `≤ ${targetMs} ms`,
      reached: Math.max(...healthMs) <= targetMs,
      figures: `${healthMs.length} asked`,
    },
    {
      what: 'all well after the load',
      value: `${Math.round(recovery.recoveredMs)} ms`,
      byCpu: '',
      target: `≤ ${recoveryTargetMs} ms`,
      reached: recovery.recoveredMs <= recoveryTargetMs,
      figures: 'until twenty quotes in 200 ms are all answered, within 100 ms each',
    },
  ]
}

function isAccepted({ status }: TimedAnswer): boolean {
  return status === 200
}

/** The latency that a share of the answers does not exceed, in whole milliseconds. */
function at(answers: readonly TimedAnswer[], share: number): number {
  const sorted = latencies(answers).toSorted((a, b) => a - b)
  return Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN)
}

/** Quotes a second that the server makes when it always has some to make, but never many; the median of some rounds. */
async function measureCapacity(port: number, request: string): Promise<number> {
  const rates: number[] = []
  for (let round = 0; round < capacityRounds; round++) {
    const saturating = { perSecond: 60_000, seconds: 0.25, connections: 64, depth: 1 }
    const { answers, startMs } = await sendOpenLoad({ port, request, ...saturating })
    // A refusal is no quote that the server made.
    rates.push(answers.filter(isAccepted).length / ((performance.now() - startMs) / 1000))
  }
  return toSpread(rates).median
}

interface HealthCheck {
  readonly sentAt: number
  readonly ms: number
}

/** Asks again and again until the signal aborts; answers with how long each answer took. */
async function watchHealth({ httpUrl }: Server, signal: AbortSignal): Promise<HealthCheck[]> {
  const checks: HealthCheck[] = []
  while (!signal.aborted) {
    const sentAt = performance.now()
    const response = await fetch(`${httpUrl}/healthz`)
    await response.text()
    if (response.status !== 200) throw new Error(`/healthz answered ${response.status}`)
    checks.push({ sentAt, ms: performance.now() - sentAt })
    await pass(healthPauseMs)
  }
  return checks
}

/** Milliseconds from `endMs` until quotes are answered as if nothing had been, and all answers until then. */
async function untilServed(
  port: number,
  request: string,
  endMs: number,
): Promise<{ recoveredMs: number; answers: TimedAnswer[] }> {
  const all: TimedAnswer[] = []
  for (;;) {
    const fromMs = performance.now()
    const { answers } = await sendOpenLoad({ port, request, ...bearable, seconds: 0.2 })
    all.push(...answers)
    const slow = answers.some((answer) => !isAccepted(answer) || answer.answeredMs - answer.dueMs > 100)
    if (!slow) return { recoveredMs: Math.max(0, fromMs - endMs), answers: all }
  }
}

/** Latencies by when the request was due, which part of them was refused, how many were answered, and /healthz. */
function toTimeline(
  what: string,
  startMs: number,
  capacity: number,
  answers: readonly TimedAnswer[],
  checks: readonly HealthCheck[],
): Timeline {
  const steps = Map.groupBy(answers, ({ dueMs }) => Math.floor((dueMs - startMs) / stepMs))
  const inOrder = [...steps].toSorted(([a], [b]) => a - b)
  const toLine = (name: string, toValue: (answers: readonly TimedAnswer[]) => number): Line => {
    const points = inOrder.map(([step, some]) => [step * stepMs, toValue(some)] as const)
    return { name, points: points.filter(([, value]) => !Number.isNaN(value)) }
  }
  const isRefused = (answer: TimedAnswer): boolean => !isAccepted(answer)
  const accepted = Map.groupBy(answers.filter(isAccepted), ({ answeredMs }) =>
    Math.floor((answeredMs - startMs) / stepMs),
  )
  const mostInStep = (capacity * stepMs) / 1000
  return {
    title: `For ${seconds} s, ${what}; then what the server can bear`,
    endMs: ((inOrder.at(-1)?.[0] ?? 0) + 1) * stepMs,
    marks: [{ atMs: seconds * 1000, what: 'the load ends' }],
    latencies: [
      toLine('answered, median', (some) => toSpread(latencies(some.filter(isAccepted))).median),
      toLine('answered, longest', (some) => toSpread(latencies(some.filter(isAccepted))).max),
      toLine('refused, median', (some) => toSpread(latencies(some.filter(isRefused))).median),
      {
        name: '/healthz',
        points: checks.flatMap(({ sentAt, ms }) => (sentAt < startMs ? [] : [[sentAt - startMs, ms] as const])),
      },
    ],
    shares: [
      toLine('refused share', (some) => some.filter(isRefused).length / some.length),
      {
        name: 'answered, of the capacity',
        points: inOrder.map(([step]) => [step * stepMs, Math.min(1, (accepted.get(step)?.length ?? 0) / mostInStep)]),
      },
    ],
  }
}

function toPercent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function latencies(answers: readonly TimedAnswer[]): number[] {
  return answers.map(({ dueMs, answeredMs }) => answeredMs - dueMs)
}
