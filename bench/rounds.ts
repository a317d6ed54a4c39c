// The method: baseline and candidate take turns, and every candidate round is held against the baseline round beside it.

const usualPairs = 10
// Until V8 has compiled most of what is used.
const warmUpSeconds = 3
const roundSeconds = 1.2

/** One side of a comparison: how to load it, and what it has used of its processor. */
export interface Side {
  /** Loads for so long; answers with how many units of work were done. */
  fire(seconds: number): Promise<number>
  cpuSeconds(): number
}

/** One round of one side. */
export interface Round {
  readonly perSecond: number
  /** Microseconds of processor time for one unit of work. */
  readonly cpuMicros: number
  /** How much of its core the server used, 0 … 1 and more when it has several. */
  readonly busy: number
}

/** What a comparison found: medians, and the spread of the ratio. */
export interface Comparison {
  readonly baseline: Round
  readonly candidate: Round
  /** Candidate's rate over baseline's, pair by pair: median, least, most. */
  readonly ratio: Spread
  /** The same by processor time for one unit; it does not see waiting, but neither a client that is too slow. */
  readonly cpuRatio: Spread
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Compares two sides in pairs of rounds, each first in turn: A B, B A, A B … */
export async function compare(
  baseline: Side,
  candidate: Side,
  pairs = usualPairs,
  seconds = roundSeconds,
): Promise<Comparison> {
  await baseline.fire(warmUpSeconds)
  await candidate.fire(warmUpSeconds)
  const found: { baseline: Round; candidate: Round }[] = []
  for (let pair = 0; pair < pairs; pair++) {
    // Properties are measured in the order in which they are written.
    found.push(
      pair % 2 === 0
        ? { baseline: await measure(baseline, seconds), candidate: await measure(candidate, seconds) }
        : { candidate: await measure(candidate, seconds), baseline: await measure(baseline, seconds) },
    )
  }
  return {
    baseline: toMedianRound(found.map((pair) => pair.baseline)),
    candidate: toMedianRound(found.map((pair) => pair.candidate)),
    ratio: toSpread(found.map((pair) => pair.candidate.perSecond / pair.baseline.perSecond)),
    cpuRatio: toSpread(found.map((pair) => pair.baseline.cpuMicros / pair.candidate.cpuMicros)),
  }
}

/** One round of one side. */
export async function measure(side: Side, forSeconds = roundSeconds): Promise<Round> {
  const cpuBefore = side.cpuSeconds()
  const startedAt = performance.now()
  const done = await side.fire(forSeconds)
  const seconds = (performance.now() - startedAt) / 1000
  const cpu = side.cpuSeconds() - cpuBefore
  return { perSecond: done / seconds, cpuMicros: (cpu * 1e6) / done, busy: cpu / seconds }
}

/** Median, least and most of some values. */
export function toSpread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  const upper = sorted[half] ?? Number.NaN
  const median = sorted.length % 2 === 0 ? (upper + (sorted[half - 1] ?? Number.NaN)) / 2 : upper
  return { median, min: sorted.at(0) ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

function toMedianRound(rounds: readonly Round[]): Round {
  return {
    perSecond: toSpread(rounds.map((round) => round.perSecond)).median,
    cpuMicros: toSpread(rounds.map((round) => round.cpuMicros)).median,
    busy: toSpread(rounds.map((round) => round.busy)).median,
  }
}
