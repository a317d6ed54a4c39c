// The balance of the account: reloaded when it may have changed, and periodically.
import { Refused } from '@mediagen/client/errors.ts'
import { type Api, isAbort } from './api.ts'
import type { WalletRecord } from './records.ts'

const refreshMs = 15_000

/** Sends `change` when it is known anew. */
export class Balance extends EventTarget {
  /** Null while it is not known; without the permission it never is. */
  wallet: WalletRecord | null = null
  readonly refresh: () => void
  #forbidden = false
  #turn = 0

  constructor(api: Api, signal: AbortSignal) {
    super()
    this.refresh = () => void this.#load(api, signal)
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') this.refresh()
    }, refreshMs)
    signal.addEventListener('abort', () => clearInterval(timer))
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && this.refresh(), {
      signal,
    })
    this.refresh()
  }

  get isForbidden(): boolean {
    return this.#forbidden
  }

  async #load(api: Api, signal: AbortSignal): Promise<void> {
    if (this.#forbidden) return
    const turn = ++this.#turn
    try {
      const wallet = await api.get<WalletRecord>('/v1/wallet', { signal })
      if (turn !== this.#turn) return
      this.wallet = wallet
    } catch (error) {
      if (isAbort(error)) return
      // Other failures pass.
      this.#forbidden = error instanceof Refused && error.problem.code === 'missing_permission'
    }
    this.dispatchEvent(new Event('change'))
  }
}
