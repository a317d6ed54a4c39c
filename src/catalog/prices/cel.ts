// The language of prices: CEL without loops and records, and with one kind of number, which is exact. The library parses, and this
// file computes. Parsing is a twentieth of what a server would load to start, so pricing.ts loads this file with the first price.
import { parse } from '@bufbuild/cel'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { Fraction, parseDecimal, toFraction } from '../../core/fraction.ts'
import { findFunction, findMethod, toTruth, toValue, typeOf, type Value } from './cel-functions.ts'

export interface Expression {
  /** Names of the variables that it reads. */
  readonly variables: ReadonlySet<string>
  /** Names of the fields of `usage` that it reads. */
  readonly usageFields: ReadonlySet<string>
  /**
   * The number for these variables: exact if it is whole, else the double next to it.
   * @throws Error that says why there is none
   */
  run(variables: JsonObject): bigint | number
}

/** Computes a part of an expression. */
type Step = (variables: JsonObject) => Value

/** What the parts of an expression have in common. */
interface Context {
  readonly variables: Set<string>
  readonly usageFields: Set<string>
  /** The number that a node of the expression writes. */
  readonly readNumber: (node: ExpressionNode, value: number) => Fraction
}

/** A node of a parsed expression, with the fields that this file reads. */
interface ExpressionNode {
  id: bigint
  exprKind: { case?: string | undefined; value?: unknown }
}

const number = /-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?/iy

/**
 * Compiles an expression.
 * @throws Error that says what is wrong with it
 */
export function compileExpression(text: string): Expression {
  const { expr, sourceInfo } = parse(text)
  const variables = new Set<string>()
  const usageFields = new Set<string>()
  const readNumber = (node: ExpressionNode, value: number): Fraction => {
    number.lastIndex = sourceInfo?.positions[String(node.id)] ?? 0
    const [written = ''] = number.exec(text) ?? []
    return Number(written) === value ? parseDecimal(written) : toFraction(value)
  }
  const compute = compile(expr, { variables, usageFields, readNumber })
  return {
    variables,
    usageFields,
    run(values) {
      const result = compute(values)
      if (!(result instanceof Fraction)) throw new Error(`it gives ${typeOf(result)}, not a number`)
      return result.isWhole() ? result.top / result.bottom : result.toNumber()
    },
  }
}

function compile(node: ExpressionNode, context: Context): Step {
  const { case: kind, value } = node.exprKind
  switch (kind) {
    case 'identExpr':
      return compileVariable((value as { name: string }).name, context)
    case 'constExpr':
      return compileConstant(node, context)
    case 'callExpr':
      return compileCall(value as { function: string; target?: ExpressionNode; args: ExpressionNode[] }, context)
    case 'selectExpr':
      return compileField(value as { operand: ExpressionNode; field: string; testOnly: boolean }, context)
    case 'listExpr': {
      const elements = (value as { elements: ExpressionNode[] }).elements.map((element) => compile(element, context))
      return (variables) => elements.map((element) => element(variables))
    }
    case undefined:
    default:
      throw new Error('a price may use no loops and no records')
  }
}

function compileVariable(name: string, { variables: read }: Context): Step {
  read.add(name)
  return (variables) => {
    if (!Object.hasOwn(variables, name)) throw new Error(`there is no ${name}`)
    return toValue(variables[name])
  }
}

function compileConstant(node: ExpressionNode, { readNumber }: Context): Step {
  const { constantKind } = node.exprKind.value as { constantKind: { case?: string; value?: unknown } }
  const value = readConstant(constantKind, (written) => readNumber(node, written))
  return () => value
}

function readConstant(constant: { case?: string; value?: unknown }, read: (written: number) => Fraction): Value {
  switch (constant.case) {
    case 'doubleValue':
      return read(constant.value as number)
    case 'int64Value':
    case 'uint64Value':
      return new Fraction(constant.value as bigint)
    case 'stringValue':
    case 'boolValue':
      return constant.value as string | boolean
    case 'nullValue':
      return null
    case undefined:
    default:
      throw new Error('a price may use numbers, texts, true, false and null')
  }
}

/** `operand.field`, or `has(operand.field)`. */
function compileField(
  { operand, field, testOnly }: { operand: ExpressionNode; field: string; testOnly: boolean },
  context: Context,
): Step {
  if (isUsage(operand)) context.usageFields.add(field)
  const find = compile(operand, context)
  return (variables) => {
    const object = find(variables)
    if (typeOf(object) !== 'an object') throw new Error(`${typeOf(object)} has no fields, such as ${field}`)
    const isThere = Object.hasOwn(object as object, field)
    if (testOnly) return isThere
    if (!isThere) throw new Error(`there is no ${isUsage(operand) ? 'usage.' : ''}${field}`)
    return toValue((object as JsonObject)[field])
  }
}

function isUsage({ exprKind: { case: kind, value } }: ExpressionNode): boolean {
  return kind === 'identExpr' && (value as { name: string }).name === 'usage'
}

function compileCall(
  { function: name, target, args }: { function: string; target?: ExpressionNode; args: ExpressionNode[] },
  context: Context,
): Step {
  const steps = (target ? [target, ...args] : args).map((argument) => compile(argument, context))
  if (name === '_&&_') return (variables) => !isAny(false, steps, variables)
  if (name === '_||_') return (variables) => isAny(true, steps, variables)
  if (name === '_?_:_') {
    const [condition, whenTrue, whenFalse] = steps as [Step, Step, Step]
    return (variables) => (toTruth(condition(variables)) ? whenTrue(variables) : whenFalse(variables))
  }
  const call = target ? findMethod(name, steps.length) : findFunction(name, steps.length)
  return (variables) => call(...steps.map((step) => step(variables)))
}

/** Whether one of the steps gives `truth`; as in all of CEL, one that cannot be computed counts only if none does. */
function isAny(truth: boolean, steps: readonly Step[], variables: JsonObject): boolean {
  const failures: unknown[] = []
  for (const step of steps) {
    try {
      if (toTruth(step(variables)) === truth) return true
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return false
}
