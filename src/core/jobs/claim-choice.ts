// Which queued jobs a claim takes: by priority, then fairly, with the slots of the worker shared among accounts. A store looks
// for candidates as this says, and claims what this chooses from them.
import type { ClaimCommand } from '../store.ts'
import { type Candidate, compareCandidates } from './fair-queue.ts'

/** A queued job that may be claimed, with its model and its account. */
export interface QueuedCandidate extends Candidate {
  readonly model: string
  readonly account: string
}

/** What to look for. */
export interface Look {
  /** How many jobs of each model. */
  readonly room: ReadonlyMap<string, number>
  /** How many in all. */
  readonly limit: number
  /** Accounts whose jobs are left out. */
  readonly except: ReadonlySet<string>
  /** Whether to search the whole queue, even if jobs of `except` make it long. */
  readonly far: boolean
}

/** A claim while its jobs are chosen. */
export interface ClaimChoice {
  /** What to look for next; null when the claim is complete. */
  look(): Look | null
  /** Chooses from what was found, at most as many of each model as were looked for. They are not found again. */
  choose(found: readonly QueuedCandidate[]): readonly QueuedCandidate[]
}

export function createClaimChoice({ room, limit, except = [], share }: ClaimCommand): ClaimChoice {
  const left = new Map(Object.entries(room))
  const held = new Map(Object.entries(share?.held ?? {}))
  const full = [...held].flatMap(([account, slots]) => (share && slots >= share.most ? [account] : []))
  // First the accounts below their share, then all of them.
  const rounds = [
    ...(share ? [{ most: share.most, out: new Set([...except, ...full]) }] : []),
    ...(share?.strict ? [] : [{ most: Number.POSITIVE_INFINITY, out: new Set(except) }]),
  ]
  let wanted = Math.max(0, limit)

  return {
    look() {
      const [round] = rounds
      if (round === undefined) return null
      return { room: left, limit: wanted, except: round.out, far: round.out.size === except.length }
    },
    choose(found) {
      const [round] = rounds
      if (round === undefined) return []
      const { most, out } = round
      const chosen: QueuedCandidate[] = []
      let again = false
      for (const next of found.toSorted(compareCandidates).slice(0, wanted)) {
        const holds = held.get(next.account) ?? 0
        if (holds >= most) {
          // It reached its share meanwhile: others may be behind its jobs.
          out.add(next.account)
          again = true
          continue
        }
        chosen.push(next)
        left.set(next.model, (left.get(next.model) ?? 0) - 1)
        held.set(next.account, holds + 1)
      }
      wanted -= chosen.length
      if (!again) rounds.shift()
      return chosen
    },
  }
}
