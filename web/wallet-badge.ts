// The balance in the bar: reloaded when it may have changed, and periodically.
import { type Api, isAbort, Refusal } from './api.ts'
import { element } from './element.ts'
import type { WalletRecord } from './records.ts'
import { toHash } from './route.ts'

const refreshMs = 15_000

export interface WalletBadge {
  readonly element: HTMLElement
  readonly refresh: () => void
}

export function walletBadge(api: Api, signal: AbortSignal): WalletBadge {
  const available = element('strong', {}, '–')
  const unit = element('span', { class: 'unit' }, 'credits')
  const held = element('span', { class: 'held' })
  const balance = element('span', { role: 'status', 'aria-label': 'Balance' })
  balance.append(available, ' ', unit, ' ', held)
  const badge = element('a', { class: 'wallet', href: toHash({ view: 'wallet' }) }, balance)
  let asked = 0

  async function refresh(): Promise<void> {
    const turn = ++asked
    try {
      const wallet = await api.get<WalletRecord>('/v1/wallet', { signal })
      if (turn !== asked) return
      available.textContent = wallet.available.toLocaleString('en-US')
      unit.textContent = wallet.available === 1 ? 'credit' : 'credits'
      held.textContent = wallet.held > 0 ? `${wallet.held.toLocaleString('en-US')} held` : ''
      badge.title = `${wallet.available.toLocaleString('en-US')} credits available, ${wallet.held.toLocaleString('en-US')} held for running generations`
    } catch (error) {
      if (isAbort(error)) return
      // Without the permission there is nothing to show; other errors are retried.
      if (error instanceof Refusal && error.problem.code === 'missing_permission') badge.hidden = true
    }
  }

  const timer = setInterval(() => {
    if (document.visibilityState === 'visible' && !badge.hidden) void refresh()
  }, refreshMs)
  signal.addEventListener('abort', () => clearInterval(timer))
  document.addEventListener('visibilitychange', () => void (document.visibilityState === 'visible' && refresh()), {
    signal,
  })
  void refresh()
  return { element: badge, refresh: () => void refresh() }
}
