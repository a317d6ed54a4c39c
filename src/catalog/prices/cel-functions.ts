// The operators and functions of prices. Numbers are exact.
import { celEnv, parse, plan } from '@bufbuild/cel'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { Fraction, parseDecimal, toFraction } from '../../core/fraction.ts'

/** A value in a price; lists and objects of the input are read as they are. */
export type Value = Fraction | JsonValue | readonly Value[]

/** An operator or a function. */
type Call = (...values: Value[]) => Value

interface Definition {
  readonly least: number
  readonly most: number
  readonly call: Call
}

const unary = (call: (value: Value) => Value): Definition => ({ least: 1, most: 1, call })
const binary = (call: (left: Value, right: Value) => Value): Definition => ({ least: 2, most: 2, call })
const arithmetic = (sign: string, compute: (left: Fraction, right: Fraction) => Fraction): Definition =>
  binary((left, right) => compute(toNumber(left, sign), toNumber(right, sign)))
const comparison = (sign: string, holds: (order: number) => boolean): Definition =>
  binary((left, right) => holds(compare(left, right, sign)))
const rounding = (name: string, round: (number: Fraction) => Fraction): Definition =>
  unary((value) => round(toNumber(value, name)))
const choice = (name: string, isBetter: (order: number) => boolean): Definition => ({
  least: 2,
  most: 10,
  call: (...values) =>
    values
      .map((value) => toNumber(value, name))
      .reduce((best, number) => (isBetter(number.compare(best)) ? number : best)),
})
const ofTexts = (name: string, test: (text: string, part: string) => boolean): Definition =>
  binary((text, part) => test(toText(text, name), toText(part, name)))

const size = unary((value) => new Fraction(BigInt(countParts(value))))

const functions: Readonly<Record<string, Definition>> = {
  '_+_': binary(add),
  '_-_': arithmetic('-', (left, right) => left.minus(right)),
  '_*_': arithmetic('*', (left, right) => left.times(right)),
  '_/_': arithmetic('/', (left, right) => left.dividedBy(right)),
  '_%_': arithmetic('%', (left, right) => left.remainder(right)),
  '-_': unary((value) => new Fraction(0n).minus(toNumber(value, '-'))),
  '_<_': comparison('<', (order) => order < 0),
  '_<=_': comparison('<=', (order) => order <= 0),
  '_>_': comparison('>', (order) => order > 0),
  '_>=_': comparison('>=', (order) => order >= 0),
  '_==_': binary(isEqual),
  '_!=_': binary((left, right) => !isEqual(left, right)),
  '!_': unary((value) => !toTruth(value)),
  '@in': binary(isIn),
  '_[_]': binary(pick),
  ceil: rounding('ceil', (number) => number.ceil()),
  floor: rounding('floor', (number) => number.floor()),
  round: rounding('round', (number) => number.round()),
  min: choice('min', (order) => order < 0),
  max: choice('max', (order) => order > 0),
  size,
  int: unary((value) => readNumber(value, /^-?\d+$/, 'int').truncate()),
  string: unary(write),
  double: unary((value) => readNumber(value, /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i, 'double')),
}

const pattern = plan(celEnv(), parse('text.matches(pattern)'))

const methods: Readonly<Record<string, Definition>> = {
  size,
  contains: ofTexts('contains', (text, part) => text.includes(part)),
  startsWith: ofTexts('startsWith', (text, part) => text.startsWith(part)),
  endsWith: ofTexts('endsWith', (text, part) => text.endsWith(part)),
  // In linear time, as the library does it.
  matches: ofTexts('matches', (text, written) => toTruth(pattern({ text, pattern: written }) as Value)),
}

/** The function or operator of this name. @throws Error that says why there is none */
export function findFunction(name: string, values: number): Call {
  return find(functions, name, values)
}

/** The function that is called as `value.name()`; the value counts. @throws Error that says why there is none */
export function findMethod(name: string, values: number): Call {
  return find(methods, name, values)
}

function find(definitions: Readonly<Record<string, Definition>>, name: string, values: number): Call {
  const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
  if (!definition) throw new Error(`there is no function ${name} in prices`)
  const { least, most, call } = definition
  if (values < least || values > most) throw new Error(`${name} does not take ${values} values`)
  return call
}

/** A value of the input. */
export function toValue(value: Value | undefined): Value {
  return typeof value === 'number' ? toFraction(value) : (value ?? null)
}

export function typeOf(value: Value): string {
  if (value instanceof Fraction || typeof value === 'number') return 'a number'
  if (typeof value === 'string') return 'a text'
  if (typeof value === 'boolean') return 'a truth value'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** @throws Error when it is neither true nor false */
export function toTruth(value: Value): boolean {
  if (typeof value === 'boolean') return value
  throw new Error(`${typeOf(value)} is neither true nor false`)
}

function toNumber(value: Value, what: string): Fraction {
  if (value instanceof Fraction) return value
  throw new Error(`${what} needs a number, not ${typeOf(value)}`)
}

function toText(value: Value, what: string): string {
  if (typeof value === 'string') return value
  throw new Error(`${what} needs a text, not ${typeOf(value)}`)
}

function readNumber(value: Value, form: RegExp, what: string): Fraction {
  if (typeof value !== 'string') return toNumber(value, what)
  if (!form.test(value)) throw new Error(`${what} needs a number, and this text is none`)
  return parseDecimal(value)
}

function write(value: Value): string {
  if (value instanceof Fraction) return String(value.isWhole() ? value.top / value.bottom : value.toNumber())
  if (typeof value === 'string' || typeof value === 'boolean') return String(value)
  throw new Error(`string cannot write ${typeOf(value)}`)
}

function add(left: Value, right: Value): Value {
  if (typeof left === 'string') return left + toText(right, '+')
  if (isList(left) && isList(right)) return [...left, ...right]
  return toNumber(left, '+').plus(toNumber(right, '+'))
}

function compare(left: Value, right: Value, sign: string): number {
  if (typeof left === 'string') {
    const other = toText(right, sign)
    return left < other ? -1 : Number(left > other)
  }
  return toNumber(left, sign).compare(toNumber(right, sign))
}

/** Values of different kinds are not equal. */
function isEqual(left: Value, right: Value): boolean {
  const [one, other] = [toValue(left), toValue(right)]
  if (one instanceof Fraction) return other instanceof Fraction && one.compare(other) === 0
  if (isList(one))
    return isList(other) && one.length === other.length && one.every((item, i) => isEqual(item, other[i] as Value))
  if (isObject(one)) {
    if (!isObject(other)) return false
    const names = Object.keys(one)
    return (
      names.length === Object.keys(other).length &&
      names.every((name) => Object.hasOwn(other, name) && isEqual(one[name] as Value, other[name] as Value))
    )
  }
  return one === other
}

function isIn(value: Value, container: Value): boolean {
  if (isList(container)) return container.some((item) => isEqual(item, value))
  if (isObject(container)) return Object.hasOwn(container, toText(value, 'in'))
  throw new Error(`in needs a list or an object, not ${typeOf(container)}`)
}

/** `container[key]` */
function pick(container: Value, key: Value): Value {
  if (isList(container)) {
    const index = toNumber(key, '[]')
    const item = index.isWhole() ? container[index.toNumber()] : undefined
    if (item === undefined) throw new Error(`a list of ${container.length} has no place ${index.toNumber()}`)
    return toValue(item)
  }
  const name = toText(key, '[]')
  if (!isObject(container) || !Object.hasOwn(container, name)) throw new Error('there is no such field')
  return toValue(container[name])
}

function countParts(value: Value): number {
  if (typeof value === 'string') return [...value].length
  if (isList(value)) return value.length
  if (isObject(value)) return Object.keys(value).length
  throw new Error(`size needs a text, a list or an object, not ${typeOf(value)}`)
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

function isObject(value: Value): value is JsonObject {
  return typeOf(value) === 'an object'
}
