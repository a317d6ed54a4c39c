// What a benchmark is: given cores and a folder, it answers with rows of the table.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BaselineRoute } from './baseline-http.ts'
import type { Cores } from './cores.ts'
import { type HttpRequest, fireHttp } from './http-load.ts'
import { compare, type Comparison, type Side, type Spread } from './rounds.ts'
import { type Server, startBaseline } from './servers.ts'

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
  /** What the page draws of it; nothing where there is only the text. */
  readonly bars?: readonly Bar[]
  readonly timeline?: Timeline
}

/** A measured value with its spread. */
export interface Bar {
  /** What sets it apart from the other bars of the row; empty for the only one. */
  readonly name: string
  readonly spread: Spread
  /** Null where there is none. */
  readonly target: number | null
  /** Behind a number, with its space: ` s`. */
  readonly unit: string
}

/** What happened over time. */
export interface Timeline {
  readonly title: string
  readonly endMs: number
  /** When something began or ended. */
  readonly marks: readonly { readonly atMs: number; readonly what: string }[]
  readonly latencies: readonly Line[]
  /** 0 … 1. */
  readonly shares: readonly Line[]
}

/** Points of a line, in order: milliseconds since the beginning, and a value. */
export interface Line {
  readonly name: string
  readonly points: readonly (readonly [atMs: number, value: number])[]
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

/** Compares two servers under the same HTTP request. @param fire asks for so many seconds, and tells how many answers came */
export function compareHttp(
  baseline: Server,
  candidate: Server,
  request: HttpRequest,
  fire: (url: string, request: HttpRequest, seconds: number) => Promise<number> = fireHttp,
): Promise<Comparison> {
  const [a, b] = [baseline, candidate].map((server) => ({
    fire: (seconds: number) => fire(server.httpUrl, request, seconds),
    cpuSeconds: () => server.cpuSeconds(),
  }))
  if (!a || !b) throw new Error('two sides make two sides')
  return compare(a, b)
}

/** Compares two requests to one server. */
export function compareRequests(server: Server, baseline: HttpRequest, candidate: HttpRequest): Promise<Comparison> {
  const toSide = (request: HttpRequest): Side => ({
    fire: (seconds) => fireHttp(server.httpUrl, request, seconds),
    cpuSeconds: () => server.cpuSeconds(),
  })
  return compare(toSide(baseline), toSide(candidate))
}

/** The row of a comparison that is to reach a ratio; null for none. */
export function toRow(what: string, least: number | null, { ratio, cpuRatio, baseline, candidate }: Comparison): Row {
  const write = ({ median, min, max }: Spread): string => `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`
  const side = ({ perSecond, cpuMicros, busy }: Comparison['baseline']): string =>
    `${Math.round(perSecond)}/s ${Math.round(cpuMicros)} µs ${Math.round(busy * 100)} %`
  return {
    what,
    value: write(ratio),
    byCpu: Number.isNaN(cpuRatio.median) ? '' : write(cpuRatio),
    target: least === null ? '' : `≥ ${least.toFixed(2)}`,
    // A client that cannot keep the baseline busy flatters the ratio of rates; the processor's time shows that.
    reached: least === null || (ratio.median >= least && !(cpuRatio.median < least)),
    figures: `${side(candidate)} against ${side(baseline)}`,
    bars: [
      { name: 'by rate', spread: ratio, target: least, unit: '' },
      ...(Number.isNaN(cpuRatio.median) ? [] : [{ name: 'by CPU time', spread: cpuRatio, target: least, unit: '' }]),
    ],
  }
}

/** The head of the table. */
export const head = ['benchmark', 'measured', 'by CPU time', 'target', 'reached', 'figures'] as const

/** The cells of a row, under that head. */
export function toCells({ what, value, byCpu, target, reached, figures }: Row): string[] {
  return [what, value, byCpu, target, target === '' ? '' : reached ? 'yes' : 'NO', figures]
}
