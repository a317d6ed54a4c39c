// Runs the benchmarks, or those that are named; prints one table, and writes it with plots as a page. Method and reading:
// bench/README.md.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, type Benchmark, head, type Row, toCells } from './bench.ts'
import { benchClaims } from './claims.ts'
import { divideCores } from './cores.ts'
import { benchEventLoop } from './event-loop.ts'
import { benchFilm } from './film.ts'
import { fleetBenchmarks } from './fleet.ts'
import { benchGenerate } from './generate.ts'
import { benchGrowth } from './growth.ts'
import { benchGrpcQuotes } from './grpc-quotes.ts'
import { benchIdle } from './idle.ts'
import { benchJobs } from './jobs.ts'
import { benchMedia } from './media.ts'
import { benchModels } from './models.ts'
import { benchOverload } from './overload.ts'
import { describeMachine, writePage } from './page.ts'
import { benchPortkey } from './portkey.ts'
import { benchQueueWait } from './queue-wait.ts'
import { benchQuotes } from './quotes.ts'
import { benchRivals } from './rivals.ts'
import { benchStart } from './start.ts'
import { benchUsage } from './usage.ts'
import { benchWaiters } from './waiters.ts'

const benchmarks: Readonly<Record<string, Benchmark>> = {
  quotes: benchQuotes,
  generate: benchGenerate,
  models: benchModels,
  'grpc-quotes': benchGrpcQuotes,
  start: benchStart,
  growth: benchGrowth,
  usage: benchUsage,
  idle: benchIdle,
  'event-loop': benchEventLoop,
  overload: benchOverload,
  jobs: benchJobs,
  rivals: benchRivals,
  portkey: benchPortkey,
  'queue-wait': benchQueueWait,
  waiters: benchWaiters,
  claims: benchClaims,
  ...fleetBenchmarks,
  film: benchFilm,
  media: benchMedia,
}

async function main(wanted: readonly string[]): Promise<void> {
  const means = (word: string, name: string): boolean => name === word || name.startsWith(`${word}-`)
  const unknown = wanted.filter((word) => !Object.keys(benchmarks).some((name) => means(word, name)))
  if (unknown.length > 0) {
    throw new Error(`There is no benchmark ${unknown.join(', ')}; there are ${Object.keys(benchmarks).join(', ')}.`)
  }
  const bench: Bench = { cores: divideCores(), folder: mkdtempSync(join(tmpdir(), 'mediagen-bench-')) }
  // As long as nothing of ours adds to it.
  const machine = describeMachine()
  const startedAt = performance.now()
  const rows: Row[] = []
  try {
    for (const [name, run] of Object.entries(benchmarks)) {
      if (wanted.length > 0 && !wanted.some((word) => means(word, name))) continue
      process.stderr.write(`${name} …\n`)
      rows.push(...(await run(bench)))
    }
  } finally {
    rmSync(bench.folder, { recursive: true, force: true })
  }
  const where = bench.cores ? `servers on core ${bench.cores.server}, load on core ${bench.cores.load}` : 'cores shared'
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  process.stdout.write(`${toTable(rows)}\nNode ${process.versions.node}, ${where}, ${seconds} s in all.\n`)
  process.stdout.write(`With plots: ${writePage(rows, [...machine, `${where}; ${seconds} s in all`])}\n`)
}

function toTable(rows: readonly Row[]): string {
  const cells = rows.map(toCells)
  const widths = head.map((name, column) => Math.max(...[...cells, head].map((row) => (row[column] ?? name).length)))
  const toLine = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`
  return [head, widths.map((width) => '-'.repeat(width)), ...cells].map(toLine).join('')
}

await main(process.argv.slice(2))
