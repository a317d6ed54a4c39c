// What the providers behind the AI SDK bill, as their answers say.
import type { JsonValue, UpstreamCost, Usage } from '@mediagen/engine/engine.ts'
import { isObject } from '../connection.ts'

const dollarTicks = 1e10

/** What xAI bills, where its package throws that away with the answer. */
export function readRawCost(json: JsonValue | undefined): UpstreamCost | null {
  const usage = isObject(json) ? json['usage'] : null
  return isObject(usage) ? readCost({ costInUsdTicks: usage['cost_in_usd_ticks'] }) : null
}

/** xAI bills in parts of a dollar, Black Forest Labs in credits. */
export function readCost(said: unknown): UpstreamCost | null {
  if (!isObject(said)) return null
  const { costInUsdTicks: ticks, videos } = said
  if (isAmount(ticks)) return { text: `${ticks / dollarTicks} USD`, amount: ticks / dollarTicks, currency: 'USD' }
  const [first] = Array.isArray(videos) ? videos : []
  const credits = isObject(first) ? first['cost'] : null
  return isAmount(credits) ? { text: `${credits} credits`, amount: credits, currency: null } : null
}

/** Whether a number can be what something costs: JSON may have negative ones, and `1e999`. */
function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** The billed tokens, where the answer names no amount of money. */
export function toTokenCost({ tokens }: Usage): UpstreamCost | null {
  return tokens === undefined ? null : { text: `${tokens} tokens`, amount: null, currency: null }
}
