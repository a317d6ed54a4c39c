// Load shedding: refuses requests while the server is overloaded, in the manner of CoDel (Nichols and Jacobson, Controlling Queue
// Delay). Requests wait in socket buffers until the event loop reads their connection, so a request waits as long as one round of
// the event loop takes. One long round is a burst or a pause of the machine. Rounds that stay long are overload: the queue does not
// empty. Then each round answers requests for a short time and refuses the rest, so that rounds and waits become short again.

/** Refuses requests while the server is overloaded. */
export interface Shedder {
  /** Whether to refuse a request; called for each when it arrives. */
  refuses(): boolean
  /** Notes a request that is never refused: it shows how long requests wait, and is not counted. */
  noteExempt(): void
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
  /** Calls back when the event loop has read every request that waits now (rounds.ts). */
  readonly atEndOfRound: (callback: () => void) => void
  /** Called when refusing begins. */
  readonly onBegin: () => void
  /** Called when no request was refused for `maxQueueMs`, with the number of requests refused since `onBegin`. */
  readonly onEnd: (refused: number) => void
}

// Times are fractions of `maxQueueMs`, except where a comment says otherwise.
// Overload is: waits longer than `maxQueueMs` for this long …
const patience = 0.2
// … or waits longer than `ms` for `patience`, in two rounds in a row …
const longWait = { ms: 0.25, patience: 0.5 }
// … during which the thread had the processor for this share of the time. If it had less, other programs cause the wait.
const leastBusy = 0.5
// A round up to this is short. After as long without a request the queue was empty.
const shortRound = 0.05
// While shedding, a round after a short one answers requests for this long.
const answerTime = 0.02
// A round after a longer one answers requests for this share of the longer one, so that the queue becomes short.
const answerShare = 0.05
// If rounds have not been short for `times` × `maxQueueMs`, refused clients send again at once, and refusing more does not help.
// Then a round answers requests for this share of the last round, if the last round took at most `longestRound`.
const retryStorm = { times: 10, answerShare: 0.4, longestRound: 0.25 }

/** Creates the decision, for all doors of a process. */
export function createShedder({ maxQueueMs, nowMs, cpuMs, atEndOfRound, onBegin, onEnd }: ShedderDeps): Shedder {
  let isInRound = false
  let roundBeganMs = 0
  let roundEndedMs = Number.NEGATIVE_INFINITY
  let lastRoundMs = 0
  /** Since when waits have been longer than `longWait.ms`. */
  let longWaitSinceMs: number | null = null
  let cpuBeforeMs = 0
  /** Since when waits have been longer than `maxQueueMs`. */
  let lateSinceMs: number | null = null
  /** Since when rounds have not been short. */
  let notShortSinceMs: number | null = null
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
    const hasPaused = atMs - roundEndedMs > maxQueueMs * shortRound
    // Measuring every short round would cost more than it shows.
    if (!hasPaused && !isShedding && lastRoundMs <= maxQueueMs * shortRound) return
    if (hasPaused) lastRoundMs = 0
    notShortSinceMs = lastRoundMs > maxQueueMs * shortRound ? (notShortSinceMs ?? atMs) : null
    roundBeganMs = atMs
    isInRound = true
    atEndOfRound(endRound)
  }

  /** How long requests are answered in this round. */
  function toAnswersMs(): number {
    if (notShortSinceMs === null) return maxQueueMs * answerTime
    const isRetryStorm =
      roundBeganMs - notShortSinceMs > maxQueueMs * retryStorm.times &&
      lastRoundMs <= maxQueueMs * retryStorm.longestRound
    return lastRoundMs * (isRetryStorm ? retryStorm.answerShare : answerShare)
  }

  function isOverloaded(atMs: number): boolean {
    const roundMs = isInRound ? atMs - roundBeganMs : 0
    lateSinceMs = Math.max(lastRoundMs, roundMs) > maxQueueMs ? (lateSinceMs ?? atMs) : null
    return hasLongWaits(atMs, roundMs) || (lateSinceMs !== null && atMs - lateSinceMs >= maxQueueMs * patience)
  }

  function hasLongWaits(atMs: number, roundMs: number): boolean {
    const longMs = maxQueueMs * longWait.ms
    if (lastRoundMs <= longMs && roundMs <= longMs) {
      longWaitSinceMs = null
      return false
    }
    if (longWaitSinceMs === null) {
      longWaitSinceMs = atMs
      cpuBeforeMs = cpuMs()
    }
    const forMs = atMs - longWaitSinceMs
    const areBothLong = lastRoundMs > longMs && roundMs > longMs
    if (!areBothLong || forMs < maxQueueMs * longWait.patience) return false
    if (cpuMs() - cpuBeforeMs >= forMs * leastBusy) return true
    longWaitSinceMs = null
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
    longWaitSinceMs = lateSinceMs = null
    onEnd(shed - shedBefore)
  }

  function refuses(isExempt: boolean): boolean {
    const atMs = nowMs()
    if (!isInRound) beginRound(atMs)
    if (!isShedding) {
      if (!isOverloaded(atMs) || isExempt) return false
      begin(atMs)
    }
    if (atMs - roundBeganMs < toAnswersMs()) {
      // Nothing had to be refused for as long as requests may wait.
      if (atMs - lastShedMs >= maxQueueMs) end()
      return false
    }
    if (isExempt) return false
    lastShedMs = atMs
    shed += 1
    return true
  }

  return {
    refuses: () => refuses(false),
    noteExempt: () => void refuses(true),
    delayMs() {
      const atMs = nowMs()
      if (isInRound) return Math.max(lastRoundMs, atMs - roundBeganMs)
      return atMs - roundEndedMs <= maxQueueMs * shortRound ? lastRoundMs : 0
    },
    shed: () => shed,
  }
}
