// Accounts take turns in reading lists: whatever one of them reads, the next list of another waits for a few pieces of it.
import { tooManyReads } from '../core/storage-trouble.ts'

// One account leaves this part of the waiting slots to others.
const partForOthers = 1 / 4

/** Runs one read as soon as it is its account's turn. */
export type Turn = <Result>(read: () => Promise<Result>) => Promise<Result>

export interface ReadTurns {
  /** A list that is one read. @param account null for those of operators @throws MediagenError when too many wait */
  list<Result>(account: string | null, read: () => Promise<Result>): Promise<Result>
  /** A list that is read in pieces, each in a turn of its own. @throws MediagenError when too many wait */
  walk<Result>(account: string | null, walk: (turn: Turn) => Promise<Result>): Promise<Result>
}

/** The reads of one account. */
interface Lane {
  /** In the order of their ranks. */
  readonly waiting: { readonly rank: number; begin(): void }[]
  running: number
  /** Lists that have not ended. */
  lists: number
}

/**
 * Creates the turns.
 * @param mostAtOnce reads that run at once
 * @param mostLists lists that may wait or run
 */
export function createReadTurns(mostAtOnce: number, mostLists: number): ReadTurns {
  /** In the order of their turns. */
  const lanes = new Map<string | null, Lane>()
  const mostOfOne = Math.max(1, Math.ceil(mostAtOnce / 2))
  const mostListsOfOne = mostLists - Math.floor(mostLists * partForOthers)
  let running = 0
  let lists = 0
  let lastRank = 0

  function beginNext(): void {
    for (const [account, lane] of lanes) {
      if (running >= mostAtOnce) return
      if (lane.waiting.length === 0 || lane.running >= mostOfOne) continue
      // To the end, behind everybody who waits.
      lanes.delete(account)
      lanes.set(account, lane)
      lane.running += 1
      running += 1
      lane.waiting.shift()?.begin()
    }
  }

  async function take<Result>(lane: Lane, rank: number, read: () => Promise<Result>): Promise<Result> {
    await new Promise<void>((begin) => {
      const behind = lane.waiting.findIndex((other) => other.rank > rank)
      lane.waiting.splice(behind === -1 ? lane.waiting.length : behind, 0, { rank, begin })
      beginNext()
    })
    try {
      return await read()
    } finally {
      lane.running -= 1
      running -= 1
      beginNext()
    }
  }

  async function walk<Result>(account: string | null, work: (turn: Turn) => Promise<Result>): Promise<Result> {
    const lane = lanes.get(account) ?? { waiting: [], running: 0, lists: 0 }
    if (lists >= mostLists || lane.lists >= mostListsOfOne) throw tooManyReads(mostLists)
    lanes.set(account, lane)
    lists += 1
    lane.lists += 1
    try {
      // Short lists do not wait for long ones, and of the long ones the oldest go on: not all of them come too late.
      let rank = 0
      const own = (lastRank += 1)
      return await work((read) => {
        const turn = take(lane, rank, read)
        rank = own
        return turn
      })
    } finally {
      lists -= 1
      lane.lists -= 1
      if (lane.lists === 0) lanes.delete(account)
    }
  }

  return { walk, list: (account, read) => walk(account, (turn) => turn(read)) }
}
