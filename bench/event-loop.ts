// How long the server's event loop is held up while every core renders, and what those who ask it meanwhile notice of that.
import { availableParallelism } from 'node:os'
import { setTimeout as pass } from 'node:timers/promises'
import { ask, type BenchAccount, createBenchAccount, order } from './accounts.ts'
import { type Bench, makeFolder, type Row } from './bench.ts'
import { toAllCores } from './cores.ts'
import { type Server, startMediagen } from './servers.ts'

const warmUpMs = 6000
const watchMs = 20_000
// Not in step with anything that the server does by the clock.
const leastPauseMs = 5
const mostPauseMs = 15
const targetMs = 20

// Large outputs, which the server takes in, checks and serves, and small ones, of which many end in a second.
const renders = [
  { model: 'builtin/image/art/text-to-image', input: { prompt: 'a storm at sea', width: 2048, height: 2048 } },
  { model: 'builtin/image/art/text-to-image', input: { prompt: 'hills', width: 512, height: 512, format: 'jpeg' } },
  { model: 'builtin/video/motion/text-to-video', input: { prompt: 'rain', duration: 2, width: 640, height: 360 } },
]

/** Runs the benchmark. */
export async function benchEventLoop(bench: Bench): Promise<readonly Row[]> {
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  await using server = await startMediagen(toAllCores(bench.cores), {
    MEDIAGEN_DATA_DIR: dataDir,
  })
  const cores = bench.cores ? bench.cores.all.split(',').length : availableParallelism()
  const stop = new AbortController()
  // Twice as many as there are cores: no process waits for its next job.
  const loads = Array.from({ length: 2 * cores }, (_, index) => renderOn(server, account, index, stop.signal))
  await pass(warmUpMs)
  // Reading the delays begins them anew.
  await readDelays(server)
  const latencies = await askMeanwhile(server, account)
  const delays = await readDelays(server)
  stop.abort()
  const ended = (await Promise.all(loads)).reduce((sum, count) => sum + count, 0)
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
  return [
    {
      what: 'event loop delay while every core renders',
      value: `p50 ${delays.p50.toFixed(1)} ms, p99 ${delays.p99.toFixed(1)} ms`,
      byCpu: '',
      target: `p99 ≤ ${targetMs} ms`,
      reached: delays.p99 <= targetMs,
      figures: `longest ${delays.max.toFixed(1)} ms; ${ended} jobs ended on ${cores} cores`,
    },
    {
      what: 'quotes meanwhile',
      value: `p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms`,
      byCpu: '',
      target: '',
      reached: true,
      figures: `${sorted.length} over REST, longest ${at(1).toFixed(1)} ms`,
    },
  ]
}

/** Keeps one job under way until the signal aborts; answers with how many ended. @throws Error when one does not succeed */
async function renderOn(server: Server, account: BenchAccount, index: number, signal: AbortSignal): Promise<number> {
  let ended = 0
  while (!signal.aborted) {
    const render = renders[(index + ended) % renders.length]
    if (!render) throw new Error('nothing to render')
    const { model } = render
    const input = { ...render.input, seed: index * 10_000 + ended }
    const { quote_id } = JSON.parse(await ask(server.httpUrl, account, '/v1/quotes', { model, input }))
    const job = JSON.parse(await ask(server.httpUrl, account, '/v1/generate?wait=true', { model, input, quote_id }))
    if (job.status !== 'succeeded') throw new Error(`${job.job_id} ${job.status}: ${JSON.stringify(job.error)}`)
    ended += 1
  }
  return ended
}

/** Milliseconds that each of many quotes took, one after the other. */
async function askMeanwhile({ httpUrl }: Server, account: BenchAccount): Promise<number[]> {
  const latencies: number[] = []
  for (const endMs = performance.now() + watchMs; performance.now() < endMs;) {
    await pass(leastPauseMs + Math.random() * (mostPauseMs - leastPauseMs))
    const sentAt = performance.now()
    await ask(httpUrl, account, '/v1/quotes', order)
    latencies.push(performance.now() - sentAt)
  }
  return latencies
}

interface Delays {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/**
 * Milliseconds between two turns of a timer of 10 ms in the server's event loop, as `/metrics` has them from
 * `monitorEventLoopDelay`: a loop that is never held up shows a little more than 10. Each reading covers the time since the last.
 */
async function readDelays({ httpUrl }: Server): Promise<Delays> {
  const text = await (await fetch(`${httpUrl}/metrics`)).text()
  const read = (name: string): number => {
    const [, seconds] = new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(text) ?? []
    return Number(seconds) * 1000
  }
  return { p50: read('p50'), p99: read('p99'), max: read('max') }
}
