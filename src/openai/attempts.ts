// Which request is a repetition of an earlier one. Clients of OpenAI's interface send no Idempotency-Key, repeat a request when
// its line is cut, and also send equal requests that mean two pictures. docs/decisions/openai-doors.md.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { LRUCache } from 'lru-cache'

/** How long an earlier request may be joined. */
export const joinableMs = 600_000
const mostBodies = 10_000
const mostOfABody = 100
// Of all bodies, as texts: their inputs are kept. The oldest are forgotten.
const mostBytes = 67_108_864

/** What the jobs of a request were started as. */
export interface Group {
  /** What their idempotency keys begin with. */
  readonly base: string
  /** The ceiling. */
  readonly maxCredits: number
  /** An equal request may refer to its pictures in other words. */
  readonly input: JsonObject
  /** Number of jobs. */
  readonly count: number
}

/** The clients that wait for the same jobs. */
export interface Clients {
  /** How many wait. */
  waiting: number
  /** After the last has hung up and the jobs were canceled: whether that was in time. */
  canceled: Promise<boolean> | null
}

/** A request under way, or one that is over. */
export interface Attempt {
  /** Settles when its jobs are started. */
  readonly started: Promise<Group>
  readonly beganMs: number
  /** Whether its client got an answer; null while it waits. */
  answered: boolean | null
  endedMs: number
  readonly clients: Clients
  /** Whether a later request has joined it. */
  joined: boolean
  /** Size of its body. */
  readonly bytes: number
}

/** The requests of the last ten minutes that this process knows. */
export interface Attempts {
  /**
   * The earlier request that an equal one repeats; null if it is a new one.
   * @param isRetry whether the client says that it repeats
   */
  join(digest: string, isRetry: boolean): Attempt | null
  /**
   * Notes a request; one whose start fails is forgotten.
   * @param bytes size of its body
   * @param clients those of the request that it joins
   */
  begin(digest: string, started: Promise<Group>, bytes: number, clients?: Clients): Attempt
  /** A number for a new job of equal requests, such as no earlier one of this process has in this period. */
  takeOrdinal(digest: string, period: number): number
  /** Notes that a request is over. */
  end(attempt: Attempt, answered: boolean): void
}

/** Creates the memory. */
export function createAttempts(nowMs: () => number): Attempts {
  const known = new LRUCache<string, Attempt[]>({
    max: mostBodies,
    maxSize: mostBytes,
    sizeCalculation: (attempts) => 1 + sumBytes(attempts),
  })

  const ordinals = new LRUCache<string, number>({ max: mostBodies })

  const listRecent = (digest: string): Attempt[] =>
    (known.get(digest) ?? []).filter(
      ({ beganMs, answered, endedMs }) => nowMs() - (answered === false ? endedMs : beganMs) <= joinableMs,
    )

  return {
    join(digest, isRetry) {
      const free = listRecent(digest).filter(({ joined }) => !joined)
      const without = free.findLast(({ answered }) => answered === false)
      // A client may not have read an answer that was sent.
      const sent = isRetry ? (free.findLast(({ answered }) => answered === null) ?? free.at(-1)) : undefined
      const found = without ?? sent
      if (!found) return null
      found.joined = true
      return found
    },
    begin(digest, started, bytes, clients = { waiting: 0, canceled: null }) {
      const attempt: Attempt = { started, beganMs: nowMs(), answered: null, endedMs: 0, clients, joined: false, bytes }
      clients.waiting += 1
      const attempts = [...listRecent(digest), attempt].slice(-mostOfABody)
      while (attempts.length > 1 && sumBytes(attempts) >= mostBytes) attempts.shift()
      known.set(digest, attempts)
      started.catch(() => {
        known.set(
          digest,
          (known.get(digest) ?? []).filter((one) => one !== attempt),
        )
      })
      return attempt
    },
    takeOrdinal(digest, period) {
      const name = `${digest} ${period}`
      const ordinal = ordinals.get(name) ?? 0
      ordinals.set(name, ordinal + 1)
      return ordinal
    },
    end(attempt, answered) {
      attempt.answered = answered
      attempt.endedMs = nowMs()
      attempt.clients.waiting -= 1
    },
  }
}

function sumBytes(attempts: readonly Attempt[]): number {
  return attempts.reduce((sum, { bytes }) => sum + bytes, 0)
}
