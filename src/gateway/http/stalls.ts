// Finds connections that stall (bodies that stop or never end, answers that the client does not read), and those that are idle.
import { leastProgressBytes } from '../../guards/progress.ts'
import type { Connection } from './connection.ts'

/** In milliseconds and bytes. */
export interface StallBounds {
  /** The time window. */
  readonly windowMs: number
  /** Bytes of a body that must arrive in each window, and of an answer that must be read, or the rest of it. Default: `leastProgressBytes`. */
  readonly leastBytes?: number
  /** How long the head of a request may take. Default: 60 s. */
  readonly headMs?: number
  /** How long a body may continue after its request is answered. Default: 5 s. */
  readonly answeredMs?: number
}

/** Why a connection is cut off. */
export type Stall = 'stalled_head' | 'stalled_body' | 'endless_body' | 'unread'

/** What of a connection shows its progress. */
export type Watched = Pick<
  Connection,
  | 'bytesRead'
  | 'headSinceMs'
  | 'isHeld'
  | 'isIdle'
  | 'requests'
  | 'takenBytes'
  | 'unanswered'
  | 'unfinished'
  | 'writableLength'
>

/** The bytes that had passed when a window began. */
interface Window {
  readonly sinceMs: number
  readonly bytes: number
}

const usualHeadMs = 60_000
const usualAnsweredMs = 5000

/** The progress of one connection. Each method is called at regular intervals. */
export class Progress {
  readonly #connection: Watched
  readonly #bounds: Required<StallBounds>
  /** The body that is being received: its request, and its window. */
  #body: (Window & { readonly of: object }) | null = null
  /** The body that still arrives although its request was answered: the request, and since when. */
  #answered: { readonly of: object; readonly sinceMs: number } | null = null
  /** The answer that is being sent. */
  #unread: Window | null = null
  /** While no request is under way: since when nothing arrived. */
  #idle: Window | null = null

  constructor(connection: Watched, { windowMs, leastBytes, headMs, answeredMs }: StallBounds) {
    this.#connection = connection
    this.#bounds = {
      windowMs,
      leastBytes: leastBytes ?? leastProgressBytes,
      headMs: headMs ?? usualHeadMs,
      answeredMs: answeredMs ?? usualAnsweredMs,
    }
  }

  /** Why the connection must be cut off, or null. */
  findStall(nowMs: number): Stall | null {
    if (this.#isUnread(nowMs)) return 'unread'
    const { unfinished: body, isHeld, headSinceMs } = this.#connection
    // While the server itself does not read, the client is not late.
    if (body === null || isHeld) {
      this.#body = null
      this.#answered = null
      const isLate = !isHeld && headSinceMs !== null && nowMs - headSinceMs >= this.#bounds.headMs
      return isLate ? 'stalled_head' : null
    }
    if (this.#isAnswered()) {
      if (this.#answered?.of !== body) this.#answered = { of: body, sinceMs: nowMs }
      return nowMs - this.#answered.sinceMs >= this.#bounds.answeredMs ? 'endless_body' : null
    }
    return this.#isBodyLate(body, nowMs) ? 'stalled_body' : null
  }

  /** Whether nothing has arrived for this long on a connection whose requests are answered. */
  isIdleFor(idleMs: number, nowMs: number): boolean {
    const { requests, isIdle, bytesRead: bytes } = this.#connection
    if (requests === 0 || !isIdle) {
      this.#idle = null
      return false
    }
    if (this.#idle?.bytes === bytes) return nowMs - this.#idle.sinceMs >= idleMs
    this.#idle = { sinceMs: nowMs, bytes }
    return false
  }

  #isBodyLate(of: object, nowMs: number): boolean {
    const { bytesRead: bytes } = this.#connection
    if (this.#body?.of === of && bytes - this.#body.bytes < this.#bounds.leastBytes)
      return nowMs - this.#body.sinceMs >= this.#bounds.windowMs
    this.#body = { of, sinceMs: nowMs, bytes }
    return false
  }

  /** Whether the latest request is answered. */
  #isAnswered(): boolean {
    return this.#connection.unanswered.at(-1)?.writableFinished ?? true
  }

  #isUnread(nowMs: number): boolean {
    const { writableLength, takenBytes: bytes } = this.#connection
    if (writableLength === 0) {
      this.#unread = null
      return false
    }
    if (this.#unread !== null && bytes - this.#unread.bytes < this.#bounds.leastBytes)
      return nowMs - this.#unread.sinceMs >= this.#bounds.windowMs
    this.#unread = { sinceMs: nowMs, bytes }
    return false
  }
}

/** The connections to cut off, those with the most unread bytes first, so that no more than `mostBytes` remain in total. */
export function findHeaviest(connections: Iterable<Connection>, mostBytes: number): Connection[] {
  const unread = [...connections]
    .map((connection) => ({ connection, bytes: connection.unreadBytes }))
    .filter(({ bytes }) => bytes > 0)
    .toSorted((a, b) => b.bytes - a.bytes)
  let sum = unread.reduce((total, { bytes }) => total + bytes, 0)
  const heaviest: Connection[] = []
  for (const { connection, bytes } of unread) {
    if (sum <= mostBytes) break
    heaviest.push(connection)
    sum -= bytes
  }
  return heaviest
}
