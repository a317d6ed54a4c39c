// What a benchmark is: given cores and a folder, it answers with rows of the table.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cores } from './cores.ts'
import { compare, type Comparison } from './rounds.ts'
import { type HttpRequest, fireHttp } from './http-load.ts'
import { type Server, startBaseline } from './servers.ts'
import type { BaselineRoute } from './baseline-http.ts'

/** One line of the table. */
export interface Row {
  readonly what: string
  /** The value that is held against the target, written out, with its spread. */
  readonly value: string
  /** The same by processor time; empty where there is none. */
  readonly byCpu: string
  readonly target: string
  readonly reached: boolean
  /** Absolute figures. */
  readonly figures: string
}

/** Where a benchmark works. */
export interface Bench {
  readonly cores: Cores | null
  /** A folder that is removed when all is done. */
  readonly folder: string
}

/** A benchmark. */
export type Benchmark = (bench: Bench) => Promise<readonly Row[]>

/** Makes a new folder for one server. */
export function makeFolder(bench: Bench): string {
  return mkdtempSync(join(bench.folder, 'data-'))
}

/** Starts bare Fastify with one route. */
export function startBareFastify(bench: Bench, route: BaselineRoute): Promise<Server> {
  const file = join(makeFolder(bench), 'route.json')
  writeFileSync(file, JSON.stringify(route))
  return startBaseline(bench.cores, 'baseline-http.ts', file)
}

/** Compares two servers under the same HTTP request. */
export function compareHttp(baseline: Server, candidate: Server, request: HttpRequest): Promise<Comparison> {
  const [a, b] = [baseline, candidate].map((server) => ({
    fire: (seconds: number) => fireHttp(server.httpUrl, request, seconds),
    cpuSeconds: () => server.cpuSeconds(),
  }))
  if (!a || !b) throw new Error('two sides make two sides')
  return compare(a, b)
}

/** The row of a comparison that is to reach a ratio. */
export function toRow(what: string, least: number, { ratio, cpuRatio, baseline, candidate }: Comparison): Row {
  const write = ({ median, min, max }: Comparison['ratio']): string =>
    `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`
  const side = ({ perSecond, cpuMicros, busy }: Comparison['baseline']): string =>
    `${Math.round(perSecond)}/s ${Math.round(cpuMicros)} µs ${Math.round(busy * 100)} %`
  return {
    what,
    value: write(ratio),
    byCpu: Number.isNaN(cpuRatio.median) ? '' : write(cpuRatio),
    target: `≥ ${least.toFixed(2)}`,
    // A client that cannot keep the baseline busy flatters the ratio of rates; the processor's time shows that.
    reached: ratio.median >= least && !(cpuRatio.median < least),
    figures: `${side(candidate)} against ${side(baseline)}`,
  }
}
