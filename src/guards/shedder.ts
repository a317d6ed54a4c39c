// Load shedding: refuses requests while the server is overloaded, in the manner of CoDel (Nichols and Jacobson, Controlling Queue
// Delay). Requests wait in buffers of the system until the event loop comes round to their connection, so a request waits as long as
// a round takes. One long round is a burst or a pause of the machine. Rounds that stay long mean a queue that does not empty: overload. Then
// each round answers requests for a short time and refuses the rest, so rounds, and with them waits, become short again.

/** Refuses requests while the server is overloaded. */
export interface Shedder {
  /** Whether to refuse a request; called for each when it arrives. */
  refuses(): boolean
  /** Notes a request that is answered in any case: it shows how long requests wait, and is not counted. */
  spare(): void
  /** An estimate of how long requests wait now, in milliseconds. */
  delayMs(): number
  /** Number of refused requests. */
  shed(): number
}

/** What the decision needs. */
export interface ShedderDeps {
  /** How long requests may wait. */
  readonly maxQueueMs: number
  /** A monotonic clock. */
  readonly nowMs: () => number
  /** Processor time that the thread of the event loop has used. */
  readonly cpuMs: () => number
  /** Calls back when everything that waits now has been read (rounds.ts). */
  readonly atEndOfRound: (callback: () => void) => void
  /** Called when refusing begins. */
  readonly onBegin: () => void
  /** Called when none was refused for a while, with the number of refused requests. */
  readonly onEnd: (refused: number) => void
}

// All are fractions of `maxQueueMs`.
// Waits longer than `maxQueueMs` are overload when they persist for this long …
const patience = 0.2
// … and waits longer than `ms` when they persist for `patience`, in two rounds in turn …
const standing = { ms: 0.25, patience: 0.5 }
// … while the thread uses the processor for this share of the time. If it does not, other programs cause the wait, not a queue.
const leastBusy = 0.5
// Rounds up to this are short, and after as long without a request the queue was empty.
const short = 0.05
// While shedding, requests are answered for this long in each round …
const answered = 0.02

// … but after a longer round for this share of it, because the queue must become short first …
const answeredLate = 0.05
// … unless refusing did not make it short in so many times `maxQueueMs`, because refused clients ask again at once. Then this
// share is answered, as long as rounds do not exceed this fraction of `maxQueueMs`.
const stubborn = { times: 10, answered: 0.4, longest: 0.25 }

/** Creates the decision, for all doors of a process. */
export function createShedder({ maxQueueMs, nowMs, cpuMs, atEndOfRound, onBegin, onEnd }: ShedderDeps): Shedder {
  let isInRound = false
  let roundBeganMs = 0
  let roundEndedMs = Number.NEGATIVE_INFINITY
  let lastRoundMs = 0
  /** Since when waits were longer than `standing.ms`, and than `maxQueueMs`. */
  let standingSinceMs: number | null = null
  let cpuBeforeMs = 0
  let lateSinceMs: number | null = null
  /** Since when rounds are not short. */
  let longSinceMs: number | null = null
  let isShedding = false
  let lastShedMs = 0
  let shed = 0
  let shedBefore = 0

  function endRound(): void {
    isInRound = false
    roundEndedMs = nowMs()
    lastRoundMs = roundEndedMs - roundBeganMs
  }

  function beginRound(atMs: number): void {
    const hasPaused = atMs - roundEndedMs > maxQueueMs * short
    // Measuring every short round would cost more than it shows.
    if (!hasPaused && !isShedding && lastRoundMs <= maxQueueMs * short) return
    if (hasPaused) lastRoundMs = 0
    longSinceMs = lastRoundMs > maxQueueMs * short ? (longSinceMs ?? atMs) : null
    roundBeganMs = atMs
    isInRound = true
    atEndOfRound(endRound)
  }

  /** How long requests are answered in this round. */
  function toAnswersMs(): number {
    if (longSinceMs === null) return maxQueueMs * answered
    const isStubborn =
      roundBeganMs - longSinceMs > maxQueueMs * stubborn.times && lastRoundMs <= maxQueueMs * stubborn.longest
    return lastRoundMs * (isStubborn ? stubborn.answered : answeredLate)
  }

  function isOverloaded(atMs: number): boolean {
    const roundMs = isInRound ? atMs - roundBeganMs : 0
    lateSinceMs = Math.max(lastRoundMs, roundMs) > maxQueueMs ? (lateSinceMs ?? atMs) : null
    return isStanding(atMs, roundMs) || (lateSinceMs !== null && atMs - lateSinceMs >= maxQueueMs * patience)
  }

  function isStanding(atMs: number, roundMs: number): boolean {
    const longMs = maxQueueMs * standing.ms
    if (lastRoundMs <= longMs && roundMs <= longMs) {
      standingSinceMs = null
      return false
    }
    if (standingSinceMs === null) {
      standingSinceMs = atMs
      cpuBeforeMs = cpuMs()
    }
    const forMs = atMs - standingSinceMs
    const areBothLong = lastRoundMs > longMs && roundMs > longMs
    if (!areBothLong || forMs < maxQueueMs * standing.patience) return false
    if (cpuMs() - cpuBeforeMs >= forMs * leastBusy) return true
    standingSinceMs = null
    return false
  }

  function begin(atMs: number): void {
    isShedding = true
    lastShedMs = atMs
    shedBefore = shed
    onBegin()
  }

  function end(): void {
    isShedding = false
    standingSinceMs = lateSinceMs = null
    onEnd(shed - shedBefore)
  }

  function refuses(isSpared: boolean): boolean {
    const atMs = nowMs()
    if (!isInRound) beginRound(atMs)
    if (!isShedding) {
      if (!isOverloaded(atMs) || isSpared) return false
      begin(atMs)
    }
    if (atMs - roundBeganMs < toAnswersMs()) {
      // Nothing had to be refused for as long as requests may wait.
      if (atMs - lastShedMs >= maxQueueMs) end()
      return false
    }
    if (isSpared) return false
    lastShedMs = atMs
    shed += 1
    return true
  }

  return {
    refuses: () => refuses(false),
    spare: () => void refuses(true),
    delayMs() {
      const atMs = nowMs()
      if (isInRound) return Math.max(lastRoundMs, atMs - roundBeganMs)
      return atMs - roundEndedMs <= maxQueueMs * short ? lastRoundMs : 0
    },
    shed: () => shed,
  }
}
