// Keeps all workers of an installation within the limits of a provider: concurrent runs, submissions a minute, and the pauses
// that it requests.
import type { ProviderStore } from '@mediagen/engine/provider-share.ts'
import type { Provider } from './provider.ts'

// Another worker may have freed a slot meanwhile.
const longestWaitMs = 5000

/** Shares providers among runs. */
export interface Throttle {
  /**
   * Waits until another submission may be made. The run then counts until it leaves, or `longestMs` have passed.
   * @throws the signal's reason
   */
  enter(provider: Provider, jobId: string, longestMs: number, signal: AbortSignal): Promise<void>
  /** The run is over; a run that never entered may leave. Never rejects: without the store the slot is free after `longestMs`. */
  leave(provider: string, jobId: string): Promise<void>
  /** Stops all submissions for this long. Never rejects: a run may not fail because a provider gets a request too soon. */
  pause(provider: string, ms: number): Promise<void>
}

/** Of the runs of this process that wait for a provider, only the first polls the store; the others follow in order. */
export function createThrottle(
  store: Pick<ProviderStore, 'enterProvider' | 'leaveProvider' | 'pauseProvider'>,
  pause: (ms: number, signal: AbortSignal) => Promise<void>,
): Throttle {
  const last = new Map<string, Promise<void>>()
  // Wakes the run that polls the store.
  const wake = new Map<string, AbortController>()

  /** @throws the signal's reason, also if a slot was taken meanwhile; the slot is then freed. */
  async function ask(provider: Provider, jobId: string, longestMs: number, signal: AbortSignal): Promise<number> {
    const { name, concurrency = null, per_minute: perMinute = null } = provider
    const waitMs = await store.enterProvider({ provider: name, jobId, concurrency, perMinute, longestMs })
    if (signal.aborted && waitMs === 0) await leave(name, jobId)
    signal.throwIfAborted()
    return waitMs
  }

  async function leave(provider: string, jobId: string): Promise<void> {
    await store.leaveProvider(provider, jobId).catch(() => {})
    wake.get(provider)?.abort()
  }

  async function enterNow(provider: Provider, jobId: string, longestMs: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const waitMs = await ask(provider, jobId, longestMs, signal)
      if (waitMs === 0) return
      const woken = new AbortController()
      wake.set(provider.name, woken)
      await pause(Math.min(waitMs, longestWaitMs), AbortSignal.any([signal, woken.signal])).catch(() => {})
    }
  }

  return {
    async enter(provider, jobId, longestMs, signal) {
      const hasLimit = provider.concurrency !== undefined || provider.per_minute !== undefined
      // Without limits runs need not take turns, except while the provider is paused: then one polls for all.
      if (!hasLimit && !last.has(provider.name)) {
        signal.throwIfAborted()
        if ((await ask(provider, jobId, longestMs, signal)) === 0) return
      }
      const before = last.get(provider.name)
      const entering = (before ?? Promise.resolve()).then(() => enterNow(provider, jobId, longestMs, signal))
      const settled = entering.catch(() => {})
      last.set(provider.name, settled)
      void settled.then(() => last.get(provider.name) === settled && last.delete(provider.name))
      await entering
    },
    leave,
    pause: (provider, ms) => store.pauseProvider(provider, ms).catch(() => {}),
  }
}
