// Prices: CEL expressions (cel.ts) over a model's input, each compiled once.
import { createRequire } from 'node:module'
import type { JsonObject, Usage } from '@mediagen/engine/engine.ts'
import type { UsagePrice } from '../../core/jobs/job.ts'
import type * as Cel from './cel.ts'

const require = createRequire(import.meta.url)

export const maxCredits = Number.MAX_SAFE_INTEGER

// A model caches its price for this many inputs, since most clients request a few sizes and lengths.
const mostKnown = 64

/** A price that cannot be computed, or is not a whole number of credits; the message says which. */
export class PriceError extends Error {
  /** The values of the input that the price reads. */
  readonly values: JsonObject

  constructor(message: string, values: JsonObject = {}) {
    super(message)
    this.name = 'PriceError'
    this.values = values
  }
}

export interface Price {
  /** Names of the variables that it reads: top-level fields of the input, and `usage`. */
  readonly variables: ReadonlySet<string>
  /** Names of the usage values that it reads. */
  readonly usageFields: ReadonlySet<string>
  /**
   * Credits for an input with the schema's defaults applied. A price from usage that exceeds every possible hold is `maxCredits`,
   * so the whole hold is charged.
   * @throws PriceError
   */
  evaluate(input: JsonObject, usage?: Usage): number
}

/**
 * Credits that the work of a job cost.
 * @throws PriceError
 */
export function priceUsage({ expression, input }: UsagePrice, usage: Usage): number {
  return compilePrice(expression).evaluate(input, usage)
}

/**
 * Compiles a price.
 * @throws PriceError when `expression` is not CEL.
 */
export function compilePrice(expression: string): Price {
  const { compileExpression } = require('./cel.ts') as typeof Cel
  const compiled = explain(`"${expression}" is not a CEL expression`, () => compileExpression(expression))
  const { variables, usageFields } = compiled

  function compute(input: JsonObject, usage?: Usage): number {
    const values = usage ? { ...input, usage: toFinite(usage) } : input
    const result = explain(`"${expression}" cannot be computed`, () => compiled.run(values))
    if (usage && result > maxCredits) return maxCredits
    if (typeof result === 'bigint' && result >= 0n && result <= maxCredits) return Number(result)
    throw new PriceError(
      `"${expression}" gives ${result}, which is not a whole number of credits, 0 or more${typeof result === 'number' ? '; ceil() rounds up' : ''}`,
    )
  }

  const known = new Map<string, number>()
  return {
    variables,
    usageFields,
    evaluate(input, usage) {
      const key = usage ? null : toKey(variables, input)
      if (key === null) return compute(input, usage)
      let price = known.get(key)
      if (price === undefined) {
        price = compute(input)
        if (known.size === mostKnown) known.clear()
        known.set(key, price)
      }
      return price
    },
  }
}

/** Usage beyond what a double can hold counts as the most that one can. */
function toFinite(usage: Usage): JsonObject {
  return Object.fromEntries(Object.entries(usage).map(([name, amount]) => [name, Math.min(amount, Number.MAX_VALUE)]))
}

function explain<Result>(problem: string, step: () => Result): Result {
  try {
    return step()
  } catch (error) {
    throw new PriceError(`${problem}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The values that a price reads, as a text; null if one of them is neither a number nor a boolean. */
function toKey(variables: ReadonlySet<string>, input: JsonObject): string | null {
  let key = ''
  for (const name of variables) {
    const value = input[name]
    if (typeof value !== 'number' && typeof value !== 'boolean') return null
    key += `${value} `
  }
  return key
}
