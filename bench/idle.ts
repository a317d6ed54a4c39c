// What a server costs that nobody asks anything: its timers look for changes, and must not add up.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bench, makeFolder, type Row } from './bench.ts'
import { toSpread } from './rounds.ts'
import { startMediagen } from './servers.ts'

// By then the first process of the built-in engine is warm.
const settleMs = 4000
// The system counts in hundredths of a second.
const watchMs = 20_000
// V8 collects by itself some 100 s after the collection before, and gives back what the start needed.
const collectedMs = 130_000
const targetPercent = 0.5
const targetMegabytes = 140

/** Runs the benchmark. */
export async function benchIdle(bench: Bench): Promise<readonly Row[]> {
  await using mediagen = await startMediagen(bench.cores, { MEDIAGEN_DATA_DIR: makeFolder(bench) })
  await sleep(settleMs)
  const cpuBefore = mediagen.cpuSeconds()
  await sleep(watchMs)
  const percent = ((mediagen.cpuSeconds() - cpuBefore) / watchMs) * 100_000
  await sleep(collectedMs - settleMs - watchMs)
  const megabytes = mediagen.residentBytes() / 1e6
  return [
    {
      what: 'idle server',
      value: `${percent.toFixed(2)} %`,
      byCpu: '',
      target: `≤ ${targetPercent} %`,
      reached: !(percent > targetPercent),
      figures: `of one core, over ${watchMs / 1000} s`,
      bars: [{ name: '', spread: toSpread([percent]), target: targetPercent, unit: ' %' }],
    },
    {
      what: 'resident memory of an idle server',
      value: `${megabytes.toFixed(0)} MB`,
      byCpu: '',
      target: `≤ ${targetMegabytes} MB`,
      reached: !(megabytes > targetMegabytes),
      figures: 'with the shipped models installed; without its child processes',
      bars: [{ name: '', spread: toSpread([megabytes]), target: targetMegabytes, unit: ' MB' }],
    },
  ]
}
