// Load shedding: refuses requests while the server is overloaded, in the manner of CoDel (Nichols and Jacobson, Controlling Queue
// Delay). Requests wait in buffers of the system until the event loop comes round to their connection, so a request waits as long as
// a round takes. One long round is a burst or a pause of the machine. Rounds that stay long mean a standing queue: overload. Then
// each round answers requests for a short time and refuses the rest, so rounds, and with them waits, become short again.

/** Refuses requests while the server is overloaded. */
export interface Shedder {
  /** Whether to refuse a request; called for each when it arrives. */
  refuses(): boolean
  /** Whether some requests are refused at present. */
  isShedding(): boolean
  /** An estimate of how long requests wait now, in milliseconds. */
  delayMs(): number
  /** Number of refused requests. */
  shed(): number
}

/** What the decision needs. */
export interface ShedderParts {
  /** How long requests may wait. */
  readonly maxQueueMs: number
  /** A monotonic clock. */
  readonly nowMs: () => number
  /** Processor time that the thread of the event loop has used. */
  readonly cpuMs: () => number
  /** Calls back when this round of the event loop is over: `setImmediate`. */
  readonly atEndOfRound: (callback: () => void) => void
  /** Called when refusing begins. */
  readonly onBegin: () => void
  /** Called when none was refused for a while, with the number of refused requests. */
  readonly onEnd: (refused: number) => void
}

// All are fractions of `maxQueueMs`.
// Waits longer than `maxQueueMs` are overload when they persist for this long …
const patience = 0.2
// … and waits longer than this when they persist for `maxQueueMs` …
const standing = 0.25
// … while the thread uses the processor for this share of the time. If it does not, other programs cause the wait, not a queue.
const leastBusy = 0.5
// While shedding, this part of each round answers requests; after a long round only the second, smaller one does, because those
// requests have waited long already and the queue must become short first.
const answered = 0.02
const answeredLate = 0.002
// Rounds less than this apart count as consecutive.
const pause = 0.05

/** Creates the decision, for all doors of a process. */
export function createShedder({ maxQueueMs, nowMs, cpuMs, atEndOfRound, onBegin, onEnd }: ShedderParts): Shedder {
  let isInRound = false
  let roundBeganMs = 0
  let roundEndedMs = Number.NEGATIVE_INFINITY
  let lastRoundMs = 0
  /** Since when waits were longer than `standing`, and than `maxQueueMs`. */
  let standingSinceMs: number | null = null
  let cpuBeforeMs = 0
  let lateSinceMs: number | null = null
  let isShedding = false
  let lastShedMs = 0
  let shed = 0
  let shedBefore = 0

  function endRound(): void {
    isInRound = false
    roundEndedMs = nowMs()
  }

  function beginRound(atMs: number): void {
    // After a pause the queue was empty, so the length of the last round does not matter now.
    lastRoundMs = atMs - roundEndedMs <= maxQueueMs * pause ? atMs - roundBeganMs : 0
    roundBeganMs = atMs
    isInRound = true
    atEndOfRound(endRound)
  }

  function isOverloaded(atMs: number): boolean {
    const waitMs = Math.max(lastRoundMs, atMs - roundBeganMs)
    lateSinceMs = waitMs > maxQueueMs ? (lateSinceMs ?? atMs) : null
    return isStanding(atMs, waitMs) || (lateSinceMs !== null && atMs - lateSinceMs >= maxQueueMs * patience)
  }

  function isStanding(atMs: number, waitMs: number): boolean {
    if (waitMs <= maxQueueMs * standing) {
      standingSinceMs = null
      return false
    }
    if (standingSinceMs === null) {
      standingSinceMs = atMs
      cpuBeforeMs = cpuMs()
    }
    const forMs = atMs - standingSinceMs
    if (forMs < maxQueueMs) return false
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

  return {
    refuses() {
      const atMs = nowMs()
      if (!isInRound) beginRound(atMs)
      if (!isShedding) {
        if (!isOverloaded(atMs)) return false
        begin(atMs)
      }
      const share = lastRoundMs > maxQueueMs * standing ? answeredLate : answered
      if (atMs - roundBeganMs < maxQueueMs * share) {
        // Nothing had to be refused for as long as requests may wait.
        if (atMs - lastShedMs >= maxQueueMs) end()
        return false
      }
      lastShedMs = atMs
      shed += 1
      return true
    },
    isShedding: () => isShedding,
    delayMs() {
      const atMs = nowMs()
      if (isInRound) return Math.max(lastRoundMs, atMs - roundBeganMs)
      return atMs - roundEndedMs <= maxQueueMs * pause ? roundEndedMs - roundBeganMs : 0
    },
    shed: () => shed,
  }
}
