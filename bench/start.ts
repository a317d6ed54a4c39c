// From spawning `bin/mediagen.js serve` to 200 from /readyz, with a fresh data directory and with one that was used before.
import { type Bench, makeFolder, type Row } from './bench.ts'
import { toSpread } from './rounds.ts'
import { startMediagen } from './servers.ts'

const starts = 5
const targetSeconds = 0.8

/** Runs the benchmark. */
export async function benchStart(bench: Bench): Promise<readonly Row[]> {
  const used = makeFolder(bench)
  await measureStart(bench, used)
  const fresh: number[] = []
  const again: number[] = []
  for (let round = 0; round < starts; round++) {
    fresh.push(await measureStart(bench, makeFolder(bench)))
    again.push(await measureStart(bench, used))
  }
  return [toStartRow('start to ready, fresh data directory', fresh), toStartRow('start to ready, used before', again)]
}

async function measureStart(bench: Bench, dataDir: string): Promise<number> {
  const spawnedAt = performance.now()
  await using mediagen = await startMediagen(bench.cores, { MEDIAGEN_DATA_DIR: dataDir })
  const { ok } = await fetch(`${mediagen.httpUrl}/readyz`)
  if (!ok) throw new Error('a server told its address before it was ready')
  return (performance.now() - spawnedAt) / 1000
}

function toStartRow(what: string, seconds: readonly number[]): Row {
  const spread = toSpread(seconds)
  const { median, min, max } = spread
  return {
    what,
    value: `${median.toFixed(2)} s (${min.toFixed(2)}–${max.toFixed(2)})`,
    byCpu: '',
    target: `≤ ${targetSeconds} s`,
    reached: median <= targetSeconds,
    figures: `median of ${starts}`,
    bars: [{ name: '', spread, target: targetSeconds, unit: ' s' }],
  }
}
