// Prices: CEL expressions over a model's input, compiled once when the catalog loads.
// Every number in a price is a double, integer literals too, so `1 + width / 2` means what it says.
import { type CelFunc, CelScalar, celEnv, celFunc, isCelError, listType, mapType, parse, plan } from '@bufbuild/cel'
import type { JsonObject, Usage } from '@mediagen/engine/engine.ts'

/** The largest price. */
export const maxCredits = Number.MAX_SAFE_INTEGER

const { DOUBLE, STRING, DYN } = CelScalar

// A model caches its price for this many inputs: most clients ask for a few sizes and lengths, and a cached price takes a sixth of
// the time.
const mostKnown = 64

const functions: CelFunc[] = [
  celFunc('ceil', [DOUBLE], DOUBLE, Math.ceil),
  celFunc('floor', [DOUBLE], DOUBLE, Math.floor),
  celFunc('min', [DOUBLE, DOUBLE], DOUBLE, Math.min),
  celFunc('max', [DOUBLE, DOUBLE], DOUBLE, Math.max),
  celFunc('size', [STRING], DOUBLE, (text) => [...text].length),
  celFunc('size', [listType(DYN)], DOUBLE, (list) => list.size),
  celFunc('size', [mapType(STRING, DYN)], DOUBLE, (map) => map.size),
]
const environment = celEnv({ funcs: functions })

/** A price that cannot be computed, or is not a whole number of credits; the message says which. */
export class PriceError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PriceError'
  }
}

/** A compiled price. */
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

/** A price of usage, complete: nothing of the catalog is needed to compute it, so a later change of the catalog does not alter it. */
export interface UsagePrice {
  /** CEL */
  readonly expression: string
  /** The fields of the input that the expression reads. */
  readonly input: JsonObject
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
  const reads: Reads = { variables: new Set(), usageFields: new Set() }
  let run: ReturnType<typeof plan>
  try {
    const parsed = parse(expression)
    if (parsed.expr) prepare(parsed.expr, reads)
    run = plan(environment, parsed)
  } catch (error) {
    throw new PriceError(
      `"${expression}" is not a CEL expression: ${error instanceof Error ? error.message : String(error)}`,
    )
  }

  function compute(input: JsonObject, usage?: Usage): number {
    const result: unknown = run(usage ? { ...input, usage } : input)
    if (isCelError(result)) throw new PriceError(`"${expression}" cannot be computed: ${result.message}`)
    if (usage && typeof result === 'number' && result > maxCredits) return maxCredits
    if (typeof result !== 'number' || !isWhole(result))
      throw new PriceError(
        `"${expression}" gives ${String(result)}, which is not a whole number of credits, 0 or more${isFraction(result) ? '; ceil() rounds up' : ''}`,
      )
    return result
  }

  const known = new Map<string, number>()
  return {
    ...reads,
    evaluate(input, usage) {
      const key = usage ? null : toKey(reads.variables, input)
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

function isFraction(result: unknown): boolean {
  return Number.isFinite(result) && !Number.isInteger(result)
}

interface Reads {
  readonly variables: Set<string>
  readonly usageFields: Set<string>
}

/** A node of a parsed expression, with the fields that this file reads. */
interface ExpressionNode {
  exprKind: { case?: string | undefined; value?: unknown }
}

/** Converts integer literals to doubles, in place, and collects the variables that are read. */
function prepare(node: ExpressionNode, reads: Reads): void {
  const { case: kind, value } = node.exprKind
  if (kind === 'identExpr') {
    reads.variables.add((value as { name: string }).name)
  } else if (kind === 'constExpr') {
    const constant = value as { constantKind: { case?: string; value?: unknown } }
    const { case: type, value: literal } = constant.constantKind
    if (type === 'int64Value' || type === 'uint64Value')
      constant.constantKind = { case: 'doubleValue', value: Number(literal) }
  } else if (kind === 'callExpr') {
    const call = value as { target?: ExpressionNode; args: ExpressionNode[] }
    if (call.target) prepare(call.target, reads)
    for (const argument of call.args) prepare(argument, reads)
  } else if (kind === 'selectExpr') {
    const { operand, field } = value as { operand?: ExpressionNode; field: string }
    if (operand && isUsage(operand)) reads.usageFields.add(field)
    if (operand) prepare(operand, reads)
  } else if (kind === 'listExpr') {
    for (const element of (value as { elements: ExpressionNode[] }).elements) prepare(element, reads)
  } else {
    throw new PriceError(
      'a price may use arithmetic, comparison, `? :`, ceil, floor, min, max and size, but no loops and no records',
    )
  }
}

function isUsage({ exprKind: { case: kind, value } }: ExpressionNode): boolean {
  return kind === 'identExpr' && (value as { name: string }).name === 'usage'
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}
