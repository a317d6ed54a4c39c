// Which request is a repetition of an earlier one. Clients of OpenAI's interface send no Idempotency-Key, repeat a request when
// its line is cut, and also send equal requests that mean two pictures. docs/decisions/openai-doors.md.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { LRUCache } from 'lru-cache'

/** How long an earlier request may be joined. */
export const joinableMs = 600_000
const mostBodies = 10_000
const mostOfABody = 100
// Of all bodies, as texts: their inputs are kept. Beyond either bound, the oldest of the account with the most are forgotten: what
// one account sends makes the server forget nothing of others, who would pay for a repetition.
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

/** What equal requests have in common. */
export interface RequestName {
  readonly account: string
  readonly digest: string
}

/** The requests of the last ten minutes that this process knows. */
export interface Attempts {
  /**
   * The earlier request that an equal one repeats; null if it is a new one.
   * @param isRetry whether the client says that it repeats
   */
  join(name: RequestName, isRetry: boolean): Attempt | null
  /**
   * Notes a request; one whose start fails is forgotten.
   * @param bytes size of its body
   * @param clients those of the request that it joins
   */
  begin(name: RequestName, started: Promise<Group>, bytes: number, clients?: Clients): Attempt
  /** A number for a new job of equal requests, such as no earlier one of this process has in this period. */
  takeOrdinal(digest: string, period: number): number
  /** Notes that a request is over. */
  end(attempt: Attempt, answered: boolean): void
}

/** Creates the memory. */
export function createAttempts(nowMs: () => number): Attempts {
  const known = createShares()
  const ordinals = new LRUCache<string, number>({ max: mostBodies })

  const listRecent = (name: RequestName): Attempt[] =>
    known
      .get(name)
      .filter(({ beganMs, answered, endedMs }) => nowMs() - (answered === false ? endedMs : beganMs) <= joinableMs)

  return {
    join(name, isRetry) {
      const free = listRecent(name).filter(({ joined }) => !joined)
      const without = free.findLast(({ answered }) => answered === false)
      // A client may not have read an answer that was sent.
      const sent = isRetry ? (free.findLast(({ answered }) => answered === null) ?? free.at(-1)) : undefined
      const found = without ?? sent
      if (!found) return null
      found.joined = true
      return found
    },
    begin(name, started, bytes, clients = { waiting: 0, canceled: null }) {
      const attempt: Attempt = { started, beganMs: nowMs(), answered: null, endedMs: 0, clients, joined: false, bytes }
      clients.waiting += 1
      const attempts = [...listRecent(name), attempt].slice(-mostOfABody)
      while (attempts.length > 1 && sumBytes(attempts) >= mostBytes) attempts.shift()
      known.set(name, attempts)
      started.catch(() => {
        known.set(
          name,
          known.get(name).filter((one) => one !== attempt),
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

/** The requests of one account by their digests, the oldest first. */
interface Share {
  readonly bodies: Map<string, readonly Attempt[]>
  bytes: number
}

/** The requests of all accounts, within the bounds. */
function createShares() {
  const shares = new Map<string, Share>()
  const total = { bodies: 0, bytes: 0 }

  function put(account: string, digest: string, attempts: readonly Attempt[]): void {
    const share = shares.get(account) ?? { bodies: new Map<string, readonly Attempt[]>(), bytes: 0 }
    const before = share.bodies.get(digest) ?? []
    const more = sumBytes(attempts) - sumBytes(before)
    share.bodies.delete(digest)
    if (attempts.length > 0) share.bodies.set(digest, attempts)
    share.bytes += more
    total.bytes += more
    total.bodies += Math.sign(attempts.length) - Math.sign(before.length)
    if (share.bodies.size === 0) shares.delete(account)
    else shares.set(account, share)
  }

  function forgetOldest(measure: (share: Share) => number): void {
    const [account, share] = [...shares].reduce((most, one) => (measure(one[1]) > measure(most[1]) ? one : most))
    const [oldest = ''] = share.bodies.keys()
    put(account, oldest, [])
  }

  return {
    get: ({ account, digest }: RequestName): readonly Attempt[] => shares.get(account)?.bodies.get(digest) ?? [],
    set({ account, digest }: RequestName, attempts: readonly Attempt[]): void {
      put(account, digest, attempts)
      while (total.bytes > mostBytes) forgetOldest((share) => share.bytes)
      while (total.bodies > mostBodies) forgetOldest((share) => share.bodies.size)
    },
  }
}

function sumBytes(attempts: readonly Attempt[]): number {
  return attempts.reduce((sum, { bytes }) => sum + bytes, 0)
}
