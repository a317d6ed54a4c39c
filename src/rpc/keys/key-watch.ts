// Watches the keys of open streams and of waits: a key that is revoked or expires ends them.
import type { HandlerContext } from '@connectrpc/connect'
import { MediagenError } from '../../core/errors.ts'
import type { Access } from './access.ts'

// A revoked key ends its streams within this time plus the lifetime of a cached key.
const lookIntervalMs = 500

type Lose = (refusal: MediagenError) => void

/** Watches the keys of open streams and of waits. */
export interface KeyWatch {
  /**
   * Calls `lose`, once, when the key in an `Authorization` header no longer works.
   * @returns the function that ends the watch
   */
  follow(authorization: string, lose: Lose): () => void
  stop(): void
}

/** A call that knows when its key no longer works. */
export interface FollowedCall {
  /** The context of the call; its signal aborts as well when the key no longer works. */
  readonly context: HandlerContext
  /** @throws MediagenError when the key no longer works */
  throwIfLost(): void
  end(): void
}

/** Follows the key of a call. */
export function followKey(keys: KeyWatch, authorization: string, context: HandlerContext): FollowedCall {
  // Thousands of calls may wait, and `AbortSignal.any` costs several times as much.
  const over = new AbortController()
  let lost: MediagenError | null = null
  const abort = (): void => over.abort(context.signal.reason)
  context.signal.addEventListener('abort', abort)
  if (context.signal.aborted) abort()
  const ignore = keys.follow(authorization, (refusal) => {
    lost = refusal
    over.abort(refusal)
  })
  return {
    context: Object.create(context, { signal: { value: over.signal } }) as HandlerContext,
    throwIfLost() {
      if (lost) throw lost
    },
    end() {
      ignore()
      context.signal.removeEventListener('abort', abort)
    },
  }
}

/** Starts checking the watched keys, each once every half second, however many streams it has open. */
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

  /** Also null if the store cannot be queried, which does not end a stream. */
  async function findRefusal(authorization: string): Promise<MediagenError | null> {
    try {
      await access.findKey(authorization)
      return null
    } catch (thrown) {
      return thrown instanceof MediagenError && thrown.code === 'invalid_api_key' ? thrown : null
    }
  }

  let timer: NodeJS.Timeout | undefined

  function tick(): void {
    if (followed.size === 0) return stop()
    if (looking) return
    looking = true
    void look().finally(() => (looking = false))
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  return {
    follow(authorization, lose) {
      timer ??= setInterval(tick, lookIntervalMs).unref()
      const losers = followed.get(authorization) ?? new Set()
      followed.set(authorization, losers.add(lose))
      return () => {
        losers.delete(lose)
        if (losers.size === 0 && followed.get(authorization) === losers) followed.delete(authorization)
      }
    },
    stop,
  }
}
