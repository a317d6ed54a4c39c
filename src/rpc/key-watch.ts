// Keys under which streams are open: a key that is revoked or expires ends them.
import { MediagenError } from '../core/errors.ts'
import type { Access } from './access.ts'

// Whoever revokes a key waits no longer than this, and for a found key no longer than it is believed without a look.
const lookIntervalMs = 500

type Lose = (refusal: MediagenError) => void

/** Looks at the keys of open streams. */
export interface KeyWatch {
  /**
   * Tells `lose`, once, when the key behind an `Authorization` header no longer works.
   * @returns what ends the watch
   */
  follow(authorization: string, lose: Lose): () => void
  stop(): void
}

/** Starts looking at the keys that are followed, each once in half a second, however many streams it has open. */
export function startKeyWatch(access: Pick<Access, 'findKey'>): KeyWatch {
  const followed = new Map<string, Set<Lose>>()
  let looking = false

  async function look(): Promise<void> {
    for (const [authorization, losers] of followed) {
      const refusal = await findRefusal(authorization)
      if (!refusal) continue
      followed.delete(authorization)
      for (const lose of losers) lose(refusal)
    }
  }

  /** Null also when the store cannot be asked: a stream does not end for that. */
  async function findRefusal(authorization: string): Promise<MediagenError | null> {
    try {
      await access.findKey(authorization)
      return null
    } catch (thrown) {
      return thrown instanceof MediagenError && thrown.code === 'invalid_api_key' ? thrown : null
    }
  }

  const timer = setInterval(() => {
    if (looking || followed.size === 0) return
    looking = true
    void look().finally(() => (looking = false))
  }, lookIntervalMs)
  timer.unref()

  return {
    follow(authorization, lose) {
      const losers = followed.get(authorization) ?? new Set()
      followed.set(authorization, losers.add(lose))
      return () => {
        losers.delete(lose)
        if (losers.size === 0 && followed.get(authorization) === losers) followed.delete(authorization)
      }
    },
    stop: () => clearInterval(timer),
  }
}
