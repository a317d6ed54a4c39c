// From spawning `bin/mediagen.js serve` to 200 from /readyz, with a fresh data directory and with one that was used before. On all
// cores, because threads that load at the same time are a part of it; and on one, as the servers of the other benchmarks.
import { type Bench, makeFolder, type Row } from './bench.ts'
import { toAllCores } from './cores.ts'
import { toSpread } from './rounds.ts'
import { startMediagen, type Where } from './servers.ts'

const starts = 5
const targetSeconds = 0.8

/** Runs the benchmark. */
export async function benchStart(bench: Bench): Promise<readonly Row[]> {
  const allCores = toAllCores(bench.cores)
  const used = makeFolder(bench)
  await measureStart(allCores, used)
  const fresh: number[] = []
  const again: number[] = []
  const onOne: number[] = []
  for (let round = 0; round < starts; round++) {
    fresh.push(await measureStart(allCores, makeFolder(bench)))
    again.push(await measureStart(allCores, used))
    onOne.push(await measureStart(bench.cores, used))
  }
  return [
    toStartRow('start to ready, fresh data directory', fresh, targetSeconds),
    toStartRow('start to ready, used before', again, targetSeconds),
    toStartRow('the same on one core', onOne, null),
  ]
}

/** Seconds until ready, on cores as `taskset` takes them; anywhere where they cannot be given out. */
async function measureStart(cores: Where | null, dataDir: string): Promise<number> {
  const spawnedAt = performance.now()
  await using mediagen = await startMediagen(cores, { MEDIAGEN_DATA_DIR: dataDir })
  const { ok } = await fetch(`${mediagen.httpUrl}/readyz`)
  if (!ok) throw new Error('a server told its address before it was ready')
  return (performance.now() - spawnedAt) / 1000
}

function toStartRow(what: string, seconds: readonly number[], target: number | null): Row {
  const spread = toSpread(seconds)
  const { median, min, max } = spread
  return {
    what,
    value: `${median.toFixed(2)} s (${min.toFixed(2)}–${max.toFixed(2)})`,
    byCpu: '',
    target: target === null ? '' : `≤ ${target} s`,
    reached: target === null || median <= target,
    figures: `median of ${starts}`,
    bars: [{ name: '', spread, target, unit: ' s' }],
  }
}
