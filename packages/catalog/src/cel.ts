// The language of prices: CEL without loops and records, where every number is a double, so `1 + width / 2` means what it says.
// It is a twentieth of what a server would load to start, so pricing.ts loads this file with the first price.
import { type CelFunc, CelScalar, celEnv, celFunc, isCelError, listType, mapType, parse, plan } from '@bufbuild/cel'

const { DOUBLE, STRING, DYN } = CelScalar

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

/** A compiled expression. */
export interface Expression {
  /** Names of the variables that it reads. */
  readonly variables: ReadonlySet<string>
  /** Names of the fields of `usage` that it reads. */
  readonly usageFields: ReadonlySet<string>
  /** @throws Error that says why there is no value for these variables */
  run(variables: Readonly<Record<string, unknown>>): unknown
}

/**
 * Compiles an expression.
 * @throws Error that says what is wrong with it
 */
export function compileExpression(text: string): Expression {
  const reads: Reads = { variables: new Set(), usageFields: new Set() }
  const parsed = parse(text)
  if (parsed.expr) prepare(parsed.expr, reads)
  const evaluate = plan(environment, parsed)
  return {
    ...reads,
    run(variables) {
      const value: unknown = evaluate(variables as Parameters<typeof evaluate>[0])
      if (isCelError(value)) throw new Error(value.message)
      return value
    },
  }
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
    throw new Error(
      'a price may use arithmetic, comparison, `? :`, ceil, floor, min, max and size, but no loops and no records',
    )
  }
}

function isUsage({ exprKind: { case: kind, value } }: ExpressionNode): boolean {
  return kind === 'identExpr' && (value as { name: string }).name === 'usage'
}
