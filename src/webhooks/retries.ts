// When a failed delivery is retried, and when it is given up.
import type { AttemptResult, DeliveryNext } from '../core/accounts/webhook.ts'

const firstDelayMs = 5000
const delayFactor = 4
const longestDelayMs = 4 * 3_600_000
// Jitter: deliveries that failed together do not retry together.
const jitter = 0.2

/**
 * What becomes of a delivery after its `attempt`th attempt.
 * @param maxAttempts the delivery is given up after this many
 * @param random 0 … 1
 * @param requestedMs the wait that the endpoint asked for: it lengthens ours, up to the longest
 */
export function planDelivery(
  attempt: number,
  maxAttempts: number,
  result: AttemptResult,
  random: number,
  requestedMs: number | null = null,
): DeliveryNext {
  if (result.error === null) return { status: 'delivered' }
  if (attempt >= maxAttempts) return { status: 'failed' }
  const delayMs = Math.min(firstDelayMs * delayFactor ** (attempt - 1), longestDelayMs)
  const leastMs = Math.min(Math.max(delayMs, requestedMs ?? 0), longestDelayMs)
  return { status: 'pending', waitMs: Math.round(leastMs * (1 + jitter * random)) }
}
