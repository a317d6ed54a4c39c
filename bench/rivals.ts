// Complete durable jobs against other ways to build the same: plain SQLite, and three queues with a ledger beside each.
import { type Bench, makeFolder, type Row, toRow } from './bench.ts'
import type { Cores } from './cores.ts'
import type { Daemon } from './daemon.ts'
import { fireHttp } from './http-load.ts'
import { startJobServer, toJobSide, untilNone } from './jobs.ts'
import { nullInput } from './null-models.ts'
import { describeMissingRedis, startRedis } from './redis.ts'
import { describeMissingRestate, startRestate } from './restate.ts'
import { rivalAccount } from './rival-http.ts'
import { compare, type Side } from './rounds.ts'
import { type Server, startBaseline } from './servers.ts'
import { createTimeOrderedKey } from './time-ordered-key.ts'

const least = 1
const pairs = 3
const roundSeconds = 2.5

/** Another way to build the same. */
interface Rival {
  readonly what: string
  /** Of this folder; is given a folder for its data. */
  readonly program: string
  /** The server of its queue. */
  readonly queue?: {
    /** What it lacks, in words; null when nothing. */
    describeMissing(): string | null
    start(cores: Cores | null, folder: string): Promise<Daemon>
  }
}

const rivals: readonly Rival[] = [
  { what: 'one SQLite transaction a step', program: 'rival-sqlite.ts' },
  { what: 'openworkflow with a ledger, both in SQLite', program: 'rival-openworkflow.ts' },
  {
    what: 'BullMQ on Redis with a ledger in SQLite',
    program: 'rival-bullmq.ts',
    queue: { describeMissing: describeMissingRedis, start: startRedis },
  },
  {
    what: 'Restate with a ledger in SQLite',
    program: 'rival-restate.ts',
    queue: { describeMissing: describeMissingRestate, start: startRestate },
  },
]

/** Runs the benchmark. */
export async function benchRivals(bench: Bench): Promise<readonly Row[]> {
  await using mediagen = await startJobServer(bench)
  const side = await toJobSide(mediagen)
  const rows: Row[] = []
  for (const rival of rivals) rows.push(await race(bench, side, rival))
  return rows
}

async function race(bench: Bench, mediagen: Side, { what: how, program, queue }: Rival): Promise<Row> {
  const what = `complete jobs : ${how}`
  const missing = queue?.describeMissing() ?? null
  if (missing !== null)
    return { what, value: 'not measured', byCpu: '', target: `≥ ${least.toFixed(2)}`, reached: false, figures: missing }
  const folder = makeFolder(bench)
  await using daemon = (await queue?.start(bench.cores, folder)) ?? null
  await using server = await startBaseline(bench.cores, program, folder)
  const side = toRivalSide(server)
  const whole = { ...side, cpuSeconds: () => side.cpuSeconds() + (daemon?.cpuSeconds() ?? 0) }
  const found = await compare(whole, mediagen, pairs, roundSeconds)
  // What a rival spends in waiting for the disk is what is to be saved here, so the rate alone decides.
  return { ...toRow(what, least, found), reached: found.ratio.median >= least }
}

/** A rival that is loaded with starts, until all of its jobs have ended. */
export function toRivalSide({ httpUrl, cpuSeconds }: Server): Side {
  const headers = { authorization: `Bearer ${rivalAccount}` }
  const body = { model: 'bench/null/plain', input: nullInput, quote_id: `quote_${'0'.repeat(150)}` }
  const request = { method: 'POST', path: '/v1/generate', headers, body, idempotencyKey: createTimeOrderedKey } as const
  return {
    async fire(seconds) {
      const started = await fireHttp(httpUrl, request, seconds)
      await untilNone(async () => ((await (await fetch(`${httpUrl}/open`)).json()) as { open: number }).open)
      return started
    },
    cpuSeconds,
  }
}
