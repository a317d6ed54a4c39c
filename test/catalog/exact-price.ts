// Prices a second time, for tests: another parser, and fractions in lowest terms.

type Ratio = readonly [top: bigint, bottom: bigint]
type Term = Ratio | string | boolean | readonly unknown[]
type Variables = Readonly<Record<string, unknown>>

const token = /\s*(?:(\d+(?:\.\d+)?)|"([^"]*)"|([a-z_][a-z_.]*)|(==|>=|<=|&&|\|\||[-+*/?:(),<>]))/giy
const bindings: Readonly<Record<string, number>> = { '?': 1, '==': 2, '<': 2, '>': 2, '+': 3, '-': 3, '*': 4, '/': 4 }

/** The value of a price, as a fraction. */
export function computeExactly(expression: string, variables: Variables): Ratio {
  const tokens = [...expression.trim().matchAll(token)]
  let at = 0

  function parse(least: number): Term {
    let left = parseTerm()
    for (;;) {
      const sign = tokens[at]?.[4] ?? ''
      const binding = bindings[sign] ?? 0
      if (binding < Math.max(least, 1)) return left
      at += 1
      if (sign === '?') {
        const whenTrue = parse(1)
        at += 1
        const whenFalse = parse(1)
        left = left === true ? whenTrue : whenFalse
      } else left = combine(sign, left, parse(binding + 1))
    }
  }

  function parseTerm(): Term {
    const [, number, text, name, sign] = tokens[at++] ?? []
    if (number !== undefined) return readRatio(number)
    if (text !== undefined) return text
    if (sign === '(') return closeAfter(parse(1))
    if (tokens[at]?.[4] !== '(') return readVariable(String(name), variables)
    at += 1
    const values = [parse(1)]
    while (tokens[at]?.[4] === ',') {
      at += 1
      values.push(parse(1))
    }
    return closeAfter(apply(String(name), values))
  }

  function closeAfter(term: Term): Term {
    at += 1
    return term
  }

  return parse(1) as Ratio
}

function readVariable(path: string, variables: Variables): Term {
  const value = path.split('.').reduce<unknown>((object, name) => (object as Variables)[name], variables)
  return typeof value === 'number' ? readRatio(String(value)) : (value as Term)
}

function readRatio(text: string): Ratio {
  const [digits = '', exponent = '0'] = text.split('e')
  const [whole = '', part = ''] = digits.split('.')
  const places = part.length - Number(exponent)
  return reduce(BigInt(whole + part) * 10n ** BigInt(Math.max(-places, 0)), 10n ** BigInt(Math.max(places, 0)))
}

function combine(sign: string, left: Term, right: Term): Term {
  if (sign === '==') return String(left) === String(right)
  const [a, b] = left as Ratio
  const [c, d] = right as Ratio
  if (sign === '+') return reduce(a * d + c * b, b * d)
  if (sign === '-') return reduce(a * d - c * b, b * d)
  if (sign === '*') return reduce(a * c, b * d)
  if (sign === '/') return reduce(a * d, b * c)
  return sign === '<' ? a * d < c * b : a * d > c * b
}

function apply(name: string, [first, second]: readonly Term[]): Term {
  if (name === 'size') return [BigInt(typeof first === 'string' ? [...first].length : (first as unknown[]).length), 1n]
  const [top, bottom] = first as Ratio
  if (name === 'ceil') return [-(-top / bottom) + (top % bottom === 0n ? 0n : 1n), 1n]
  if (name === 'min') return combine('<', first as Term, second as Term) === true ? (first as Term) : (second as Term)
  throw new Error(`This test does not know the function ${name}.`)
}

function reduce(top: bigint, bottom: bigint): Ratio {
  let [divisor, rest] = [top, bottom]
  while (rest !== 0n) [divisor, rest] = [rest, divisor % rest]
  return [top / divisor, bottom / divisor]
}
