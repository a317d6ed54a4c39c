// Which requests are refused because the server is behind. Requests wait in the buffers of the system until the event loop comes
// round to their connection, so how long a round takes is how long they wait. A long round is nothing by itself: a burst, a pause of
// the machine. A queue that stands is overload: rounds that stay long. Then each round answers what it can in a short time and refuses
// the rest, so that rounds, and with them waits, become short again. (Nichols and Jacobson call it CoDel: Controlling Queue Delay.)

/** Refuses requests while the server is behind. */
export interface Shedder {
  /** Asked once for each request, when it arrives: whether it is to be refused. */
  refuses(): boolean
  /** How long requests wait now, in milliseconds, as far as it can be told. */
  delayMs(): number
  /** How many were refused. */
  shed(): number
}

/** What the decision is made of. */
export interface ShedderParts {
  /** How long requests may wait. */
  readonly maxQueueMs: number
  /** A clock that does not go back. */
  readonly nowMs: () => number
  /** Processor time that the thread of the event loop has used. */
  readonly cpuMs: () => number
  /** Calls back when this round of the event loop is over: `setImmediate`. */
  readonly atEndOfRound: (callback: () => void) => void
  /** Told when requests begin to be refused. */
  readonly onBegin: () => void
  /** Told when none was refused for a while, how many were. */
  readonly onEnd: (refused: number) => void
}

// All in parts of `maxQueueMs`.
// Waits longer than `maxQueueMs` are overload when they last for so long …
const patience = 0.2
// … and waits longer than this when they last for all of `maxQueueMs` …
const standing = 0.25
// … while the thread has the processor for this share of the time. Where others have it, even a short queue is slow: that is theirs.
const leastBusy = 0.5
// So much of a round is given to requests that are answered while others are refused; and so much after a long round, since whoever
// is answered then has waited long already: the queue is to become short first.
const answered = 0.02
const answeredLate = 0.002
// Rounds that follow each other more closely have always work between them.
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
    // After a pause the queue was empty: the last round says nothing of the requests that come now.
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
    delayMs() {
      const atMs = nowMs()
      if (isInRound) return Math.max(lastRoundMs, atMs - roundBeganMs)
      return atMs - roundEndedMs <= maxQueueMs * pause ? roundEndedMs - roundBeganMs : 0
    },
    shed: () => shed,
  }
}
