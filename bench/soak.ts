// `node bench/soak.ts --minutes 10 [--postgres] [--plot soak.svg]`: a real server with limits, labels, webhooks and traces under a
// bounded mixed load for that long; its memory and its open files must stay flat, every job must end and its end be told, and the
// ledger must verify, or the exit status is 1.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { noLimits } from '../src/core/accounts/limits.ts'
import { startPostgres } from '../test/storage/postgres-server.ts'
import { ask, createBenchAccount, type BenchAccount } from './accounts.ts'
import { createMemoryReader, type MemoryReader } from './memory.ts'
import { plotSeries } from './plot.ts'
import { type Server, startMediagen } from './servers.ts'
import { type Receiver, startReceiver } from './soak-receiver.ts'

// What may grow over the second half of the run: so much an hour, but never less than a breath, by which it swings. What
// objects hold is measured when all garbage is gone, so it hardly swings. The rest of resident memory is freed pages that
// nobody took back, code, and the page caches of SQLite, which fill as the database grows.
const mostObjects = { perHour: 6, breath: 2 }
const mostResident = { perHour: 24, breath: 24 }
// Files that may be open more at the end, when nobody asks anything, than at the first sample under load: by then the
// processes that are forked when they are first needed are there, with their pipes.
const mostNewFiles = 8
const settleMs = 2000
const fewestSamples = 6
const sampleMs = 10_000
// Longest that the last jobs may take when the load is over.
const drainMs = 60_000
const mbBytes = 1_048_576
const teams = 20
// All kinds of limits, beyond what a run can spend.
const plenty = 1_000_000_000
const limits = { ...noLimits, perStart: plenty, daily: plenty, weekly: plenty, monthly: plenty, total: plenty }
/** How long quotes took since the last sample. */
const quoteMs: number[] = []

const model = 'soak/instant/text-to-image'
const slowModel = 'soak/slow/text-to-image'

interface Sample {
  readonly seconds: number
  readonly rssMb: number
  /** What is left of heaps and what objects hold outside of them, when all garbage is gone. */
  readonly objectsMb: number
  /** Open ones of the server, without the connections that this client keeps. */
  readonly files: number
  /** Longest that a quote took, and half of them at most, since the sample before; null without one. */
  readonly slowestMs: number | null
  readonly medianMs: number | null
}

interface Counts {
  started: number
  waited: number
  canceled: number
  watched: number
  listed: number
  refused: number
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '8' },
    postgres: { type: 'boolean' },
    plot: { type: 'string' },
  },
})
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error('--minutes must be a number above 0')
const roundsPerSecond = Number(values.rate)
if (!(roundsPerSecond > 0)) throw new Error('--rate must be a number above 0')

const folder = mkdtempSync(join(tmpdir(), 'mediagen-soak-'))
try {
  process.exitCode = await soak()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function soak(): Promise<number> {
  const dataDir = join(folder, 'data')
  const catalog = writeCatalog()
  await using postgres = values.postgres ? await startPostgres('durable') : null
  const databaseUrl = (await postgres?.createDatabase()) ?? null
  await using receiver = await startReceiver()
  const account = await createBenchAccount(dataDir, databaseUrl, limits)
  const settings = {
    MEDIAGEN_DATA_DIR: dataDir,
    MEDIAGEN_CATALOG: catalog,
    MEDIAGEN_LOG_LEVEL: 'warn',
    MEDIAGEN_MAX_QUEUED_JOBS: '1000000',
    MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    ...(databaseUrl !== null && { MEDIAGEN_DATABASE_URL: databaseUrl }),
  }
  const memory = createMemoryReader()
  // A leak may be planted, to see that the verdict finds it.
  const preload = ['memory-probe.ts', ...(process.env['SOAK_LEAK_BYTES'] ? ['leak.ts'] : [])]
  const server = await startMediagen(null, settings, {
    flags: ['--expose-gc'],
    preload,
    onLine: memory.onLine,
  })
  const problems: string[] = []
  const samples: Sample[] = []
  const counts: Counts = { started: 0, waited: 0, canceled: 0, watched: 0, listed: 0, refused: 0 }
  try {
    await runLoad({ server, memory }, { account, receiver }, counts, samples, problems)
    problems.push(...(await findStuck(server, account)), ...(await findUntold(receiver, counts)))
  } finally {
    await server[Symbol.asyncDispose]()
  }
  problems.push(...verifyLedger(settings), ...judge(samples))
  if (receiver.spanRequests === 0) problems.push('no trace was sent')
  if (values.plot !== undefined) writeFileSync(values.plot, plotSamples(samples))
  console.log(JSON.stringify({ ...counts, told: receiver.told.size, spanRequests: receiver.spanRequests }))
  for (const problem of problems) console.log(`BROKEN: ${problem}`)
  console.log(problems.length === 0 ? 'the soak is whole' : `the soak is broken: ${problems.length} problems`)
  return problems.length === 0 ? 0 : 1
}

/** Rounds of requests, begun at a fixed rate whether or not earlier ones are over, and a sample now and then. */
async function runLoad(
  { server, memory }: { server: Server; memory: MemoryReader },
  client: Client,
  counts: Counts,
  samples: Sample[],
  problems: string[],
): Promise<void> {
  const begunAt = performance.now()
  const endAt = begunAt + minutes * 60_000
  const underWay = new Set<Promise<void>>()
  let nextSampleAt = begunAt
  for (let round = 0; performance.now() < endAt; round++) {
    if (performance.now() >= nextSampleAt) {
      nextSampleAt += sampleMs
      const sample = await takeSample(server, memory, (performance.now() - begunAt) / 1000)
      samples.push(sample)
      console.log(`${toLine(sample)}, ${counts.started} started, ${underWay.size} rounds under way`)
    }
    const done = oneRound(server, client, round, counts)
      .catch((error: unknown) => {
        counts.refused += 1
        if (counts.refused <= 5) problems.push(`a round failed: ${String(error)}`)
      })
      .finally(() => underWay.delete(done))
    underWay.add(done)
    await pass(Math.max(0, begunAt + ((round + 1) * 1000) / roundsPerSecond - performance.now()))
  }
  await Promise.race([Promise.all(underWay), pass(drainMs, undefined, { ref: false })])
  if (underWay.size > 0) problems.push(`${underWay.size} rounds never ended`)
  await pass(settleMs)
  const last = await takeSample(server, memory, (performance.now() - begunAt) / 1000)
  samples.push(last)
  console.log(`${toLine(last)}, the load is over`)
}

/** What one client does: a quote and a start, and then one of several things with the job. */
async function oneRound(server: Server, client: Client, round: number, counts: Counts): Promise<void> {
  const { account, receiver } = client
  const url = server.httpUrl
  const kind = round % 4
  const order = { model: kind === 2 ? slowModel : model, input: { prompt: `round ${round}` } }
  const askedAt = performance.now()
  const { quote_id } = JSON.parse(await ask(url, account, '/v1/quotes', order)) as { quote_id: string }
  quoteMs.push(performance.now() - askedAt)
  const wait = kind === 0
  const started = await ask(url, withHeaders(account, round, receiver), `/v1/generate?wait=${wait}`, {
    ...order,
    quote_id,
  })
  const job = JSON.parse(started) as JobRecord
  counts.started += 1
  switch (kind) {
    case 0:
      if (job.status !== 'succeeded') throw new Error(`a job that was waited for is ${job.status}`)
      counts.waited += 1
      break
    case 1:
      // The events of a job end with it.
      if (!(await ask(url, account, `/v1/jobs/${job.job_id}/events`)).includes('"status":"succeeded"'))
        throw new Error('a watcher was not told the end')
      counts.watched += 1
      break
    case 2:
      await ask(url, account, `/v1/jobs/${job.job_id}/cancel`, {})
      if (!(await ask(url, account, `/v1/jobs/${job.job_id}/events`)).includes('"status":"canceled"'))
        throw new Error('a canceled job ended otherwise')
      counts.canceled += 1
      break
    default: {
      const leave = new AbortController()
      await fetch(`${url}/v1/jobs/${job.job_id}/events`, { headers: account.headers, signal: leave.signal })
      leave.abort()
      await ask(url, account, `/v1/jobs?limit=100&label=team:${round % teams}`)
      await ask(url, account, `/v1/usage?group_by=day,label:team`)
      counts.listed += 1
    }
  }
}

/** The same account, whose starts have labels and a URL to tell the end to. */
function withHeaders({ accountId, headers }: BenchAccount, round: number, receiver: Receiver): BenchAccount {
  const labels = `team=${round % teams}, campaign=soak`
  return {
    accountId,
    headers: { ...headers, 'mediagen-labels': labels, 'mediagen-webhook-url': receiver.hookUrl },
  }
}

interface Client {
  readonly account: BenchAccount
  readonly receiver: Receiver
}

interface JobRecord {
  readonly job_id: string
  readonly status: string
}

async function takeSample(server: Server, memory: MemoryReader, seconds: number): Promise<Sample> {
  const { rss, heap, external } = await memory.read(server)
  const text = await (await fetch(`${server.httpUrl}/metrics`)).text()
  const files = Number(/^process_open_fds (\S+)$/m.exec(text)?.[1])
  const kept = countConnections(new URL(server.httpUrl).port)
  const latencies = quoteMs.splice(0).toSorted((a, b) => a - b)
  return {
    seconds,
    rssMb: rss / mbBytes,
    objectsMb: (heap + external) / mbBytes,
    files: files - kept,
    slowestMs: latencies.at(-1) ?? null,
    medianMs: latencies[Math.floor(latencies.length / 2)] ?? null,
  }
}

/** Connections to a port of this machine that are open, by proc_net_tcp(5): numbers are hexadecimal, 01 is established. */
function countConnections(port: string): number {
  const remote = new RegExp(`^ *\\d+: \\S+ \\S+:${Number(port).toString(16).padStart(4, '0')} 01 `, 'gim')
  return readFileSync('/proc/net/tcp', 'utf8').match(remote)?.length ?? 0
}

function toLine({ seconds, rssMb, objectsMb, files, medianMs, slowestMs }: Sample): string {
  const memory = `objects ${objectsMb.toFixed(2)} MB, resident ${rssMb.toFixed(1)} MB`
  const quotes = `a quote ${medianMs?.toFixed(1) ?? '-'} ms, at most ${slowestMs?.toFixed(0) ?? '-'}`
  return `${seconds.toFixed(0).padStart(6)} s: ${memory}, ${files} open files, ${quotes}`
}

function plotSamples(samples: readonly Sample[]): string {
  const series = (name: string, read: (sample: Sample) => number | null) => ({
    name,
    points: samples.map((sample) => [sample.seconds / 60, read(sample)] as const),
  })
  return plotSeries('minutes', [
    series('what objects hold, MB', (sample) => sample.objectsMb),
    series('resident memory, MB', (sample) => sample.rssMb),
    series('open files', (sample) => sample.files),
    series('half of the quotes take at most, ms', (sample) => sample.medianMs),
  ])
}

/** Jobs that have not ended a while after the load did. */
async function findStuck({ httpUrl }: Server, account: BenchAccount): Promise<string[]> {
  const lastAt = performance.now() + drainMs
  for (;;) {
    const open: number[] = []
    for (const status of ['queued', 'running', 'needs_review']) {
      const page = JSON.parse(await ask(httpUrl, account, `/v1/jobs?status=${status}&limit=1`)) as { total: number }
      open.push(page.total)
    }
    const all = open.reduce((sum, jobs) => sum + jobs, 0)
    if (all === 0) return []
    if (performance.now() > lastAt) return [`${all} jobs are stuck (queued, running, in review: ${open.join(', ')})`]
    await pass(200)
  }
}

/** Jobs whose end was not told to their URL a while after they ended. */
async function findUntold({ told }: Receiver, { started }: Counts): Promise<string[]> {
  const lastAt = performance.now() + drainMs
  while (told.size < started) {
    if (performance.now() > lastAt) return [`the ends of ${started - told.size} jobs were not told`]
    await pass(200)
  }
  return []
}

function verifyLedger(settings: Readonly<Record<string, string>>): string[] {
  const program = join(import.meta.dirname, '../bin/mediagen.js')
  const env = { ...process.env, ...settings }
  try {
    const text = execFileSync(process.execPath, [program, 'admin', 'ledger', 'verify', '--json'], {
      env,
      encoding: 'utf8',
    })
    console.log(`ledger verify: ${text.trim().replaceAll(/\s+/g, ' ')}`)
    return []
  } catch (error) {
    return [`the ledger does not verify: ${String((error as { stdout?: string }).stdout)}`]
  }
}

/** Holds the second half of the load against its bounds, and the files that are open at the end against those of the first sample under load. */
function judge(samples: readonly Sample[]): string[] {
  const half = samples.slice(0, -1).filter(({ seconds }) => seconds >= (minutes * 60) / 2)
  if (half.length < fewestSamples) return ['the run was too short to judge: give it two minutes or more']
  const newFiles = (samples.at(-1)?.files ?? 0) - (samples[1]?.files ?? 0)
  console.log(`at the end: ${newFiles} more open files than at the first sample under load (at most ${mostNewFiles})`)
  return [
    ...judgeGrowth('objects', mostObjects, half, ({ objectsMb }) => objectsMb),
    ...judgeGrowth('resident memory', mostResident, half, ({ rssMb }) => rssMb),
    ...(newFiles <= mostNewFiles
      ? []
      : [`${newFiles} more files are open at the end than at the first sample under load`]),
  ]
}

function judgeGrowth(
  what: string,
  most: { readonly perHour: number; readonly breath: number },
  half: readonly Sample[],
  read: (sample: Sample) => number,
): string[] {
  const hours = ((half.at(-1)?.seconds ?? 0) - (half[0]?.seconds ?? 0)) / 3600
  const grown = slopeOf(half.map((sample) => [sample.seconds / 3600, read(sample)])) * hours
  const bound = Math.max(most.perHour * hours, most.breath)
  const sentence = `${what} grew by ${grown.toFixed(2)} MB over ${(hours * 60).toFixed(1)} minutes (at most ${bound.toFixed(1)} MB)`
  console.log(`second half: ${sentence}`)
  return grown <= bound ? [] : [sentence]
}

/** Slope of the line of least squares. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return above / below
}

/** Two models: one that ends at once, one that runs until it is canceled. JSON is YAML. */
function writeCatalog(): string {
  const picture = join(import.meta.dirname, '../test/models/picture.png')
  const toModel = (id: string, run: readonly string[], concurrency: number) => ({
    id,
    name: id,
    description: 'A program of the soak.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'bench',
    created: '2026-11-01',
    price: { credits: 2 },
    engine: { kind: 'command', run, timeout_seconds: 60, concurrency },
    input: { type: 'object', required: ['prompt'], properties: { prompt: { type: 'string' } } },
  })
  const models = [toModel(model, ['cp', picture, 'out.png'], 4), toModel(slowModel, ['sleep', '50'], 4)]
  const file = join(folder, 'soak.yaml')
  writeFileSync(file, JSON.stringify({ models }))
  return file
}
