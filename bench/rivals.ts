// Complete durable jobs against two ways to build the same: BullMQ on Redis with a ledger beside it, and plain SQLite.
import { type Bench, makeFolder, type Row, toRow } from './bench.ts'
import { fireHttp } from './http-load.ts'
import { startJobServer, toJobSide, untilNone } from './jobs.ts'
import { nullInput } from './null-models.ts'
import { describeMissingRedis, startRedis } from './redis.ts'
import { rivalAccount } from './rival-http.ts'
import { compare, type Comparison, type Side } from './rounds.ts'
import { type Server, startBaseline } from './servers.ts'

const least = 1
const pairs = 3
const roundSeconds = 2.5

/** Runs the benchmark. */
export async function benchRivals(bench: Bench): Promise<readonly Row[]> {
  await using mediagen = await startJobServer(bench)
  const side = await toJobSide(mediagen)
  return [await againstSqlite(bench, side), await againstBullmq(bench, side)]
}

async function againstSqlite(bench: Bench, mediagen: Side): Promise<Row> {
  await using rival = await startBaseline(bench.cores, 'rival-sqlite.ts', makeFolder(bench))
  return toRivalRow('complete jobs : one SQLite transaction a step', await race(toRivalSide(rival), mediagen))
}

async function againstBullmq(bench: Bench, mediagen: Side): Promise<Row> {
  const what = 'complete jobs : BullMQ on Redis with a ledger in SQLite'
  const missing = describeMissingRedis()
  if (missing !== null)
    return { what, value: 'not measured', byCpu: '', target: `≥ ${least.toFixed(2)}`, reached: false, figures: missing }
  const folder = makeFolder(bench)
  await using redis = await startRedis(bench.cores, folder)
  await using rival = await startBaseline(bench.cores, 'rival-bullmq.ts', folder)
  const side = toRivalSide(rival)
  const both = { ...side, cpuSeconds: () => side.cpuSeconds() + redis.cpuSeconds() }
  return toRivalRow(what, await race(both, mediagen))
}

function race(rival: Side, mediagen: Side): Promise<Comparison> {
  return compare(rival, mediagen, pairs, roundSeconds)
}

/** What a rival spends in waiting for the disk is what is to be saved here, so the rate alone decides. */
function toRivalRow(what: string, found: Comparison): Row {
  return { ...toRow(what, least, found), reached: found.ratio.median >= least }
}

/** A rival that is loaded with starts, until all of its jobs have ended. */
export function toRivalSide({ httpUrl, cpuSeconds }: Server): Side {
  const headers = { authorization: `Bearer ${rivalAccount}`, 'idempotency-key': '[<id>]' }
  const body = { model: 'bench/null/plain', input: nullInput, quote_id: `quote_${'0'.repeat(150)}` }
  const request = { method: 'POST', path: '/v1/generate', headers, body } as const
  return {
    async fire(seconds) {
      const started = await fireHttp(httpUrl, request, seconds)
      await untilNone(async () => ((await (await fetch(`${httpUrl}/open`)).json()) as { open: number }).open)
      return started
    },
    cpuSeconds,
  }
}
