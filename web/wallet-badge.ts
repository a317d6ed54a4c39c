// The balance in the bar.
import type { Balance } from './balance.ts'
import { element } from './element.ts'
import { toHash } from './route.ts'

/** A link to the ledger with the balance; hidden if the key may not read it. */
export function walletBadge(balance: Balance, signal: AbortSignal): HTMLElement {
  const available = element('strong', {}, '–')
  const unit = element('span', { class: 'unit' }, 'credits')
  const held = element('span', { class: 'held' })
  const words = element('span', { role: 'status', 'aria-label': 'Balance' })
  words.append(available, ' ', unit, ' ', held)
  const badge = element('a', { class: 'wallet', href: `/${toHash({ view: 'wallet' })}` }, words)

  function show(): void {
    badge.hidden = balance.isForbidden
    const { wallet } = balance
    if (!wallet) return
    const [free, kept] = [wallet.available.toLocaleString('en-US'), wallet.held.toLocaleString('en-US')]
    available.textContent = free
    unit.textContent = wallet.available === 1 ? 'credit' : 'credits'
    held.textContent = wallet.held > 0 ? `${kept} held` : ''
    badge.title = `${free} credits available, ${kept} held for running generations`
  }
  balance.addEventListener('change', show, { signal })
  return badge
}
