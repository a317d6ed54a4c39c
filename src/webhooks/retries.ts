// When a delivery that failed is tried again, and when it is given up.
import type { AttemptResult, DeliveryNext } from '@mediagen/core/webhook.ts'

const firstDelayMs = 5000
const delayFactor = 4
const longestDelayMs = 4 * 3_600_000
// Jitter: deliveries that failed together do not retry together.
const jitter = 0.2

/**
 * What becomes of a delivery after its `attempt`th attempt.
 * @param maxAttempts the delivery is given up after this many
 * @param random 0 … 1
 */
export function planDelivery(
  attempt: number,
  maxAttempts: number,
  result: AttemptResult,
  random: number,
): DeliveryNext {
  if (result.error === null) return { status: 'delivered' }
  if (attempt >= maxAttempts) return { status: 'failed' }
  const delayMs = Math.min(firstDelayMs * delayFactor ** (attempt - 1), longestDelayMs)
  return { status: 'pending', waitMs: Math.round(delayMs * (1 + jitter * random)) }
}
