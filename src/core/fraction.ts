// Exact numbers: fractions of whole numbers. Prices are computed with them, so that a decimal means what is written: 0.1 is a tenth,
// not the binary fraction next to it.

// A price that multiplies without end must not take all memory. The largest double has 1024 bits.
const most = 2n ** 8192n
const least = -most
const mostDigits = 2000
const decimal = /^(-?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i

/** A number, not reduced to lowest terms. */
export class Fraction {
  readonly top: bigint
  /** Positive. */
  readonly bottom: bigint

  /** @throws RangeError when a part of it has more digits than any price needs */
  constructor(top: bigint, bottom = 1n) {
    if (top > most || top < least || bottom > most) throw new RangeError('a number has too many digits')
    this.top = top
    this.bottom = bottom
  }

  plus({ top, bottom }: Fraction): Fraction {
    if (bottom === this.bottom) return new Fraction(this.top + top, bottom)
    return new Fraction(this.top * bottom + top * this.bottom, this.bottom * bottom)
  }

  minus({ top, bottom }: Fraction): Fraction {
    return this.plus(new Fraction(-top, bottom))
  }

  times({ top, bottom }: Fraction): Fraction {
    return new Fraction(this.top * top, this.bottom * bottom)
  }

  /** @throws RangeError when `divisor` is 0 */
  dividedBy(divisor: Fraction): Fraction {
    if (divisor.top === 0n) throw new RangeError('a number is divided by 0')
    const sign = divisor.top < 0n ? -1n : 1n
    return new Fraction(this.top * divisor.bottom * sign, this.bottom * divisor.top * sign)
  }

  /** What is left of a division without a fraction; it has the sign of this number. */
  remainder(divisor: Fraction): Fraction {
    return this.minus(divisor.times(this.dividedBy(divisor).truncate()))
  }

  /** Less than, equal to or greater than 0, as this number is compared with `other`. */
  compare(other: Fraction): number {
    const [left, right] = [this.top * other.bottom, other.top * this.bottom]
    return left < right ? -1 : left > right ? 1 : 0
  }

  isWhole(): boolean {
    return this.top % this.bottom === 0n
  }

  /** Without the part after the point. */
  truncate(): Fraction {
    return new Fraction(this.top / this.bottom)
  }

  floor(): Fraction {
    const whole = this.top / this.bottom
    return new Fraction(this.top < 0n && !this.isWhole() ? whole - 1n : whole)
  }

  ceil(): Fraction {
    const whole = this.top / this.bottom
    return new Fraction(this.top > 0n && !this.isWhole() ? whole + 1n : whole)
  }

  /** The nearest whole number; a half is rounded away from 0. */
  round(): Fraction {
    const half = new Fraction(this.top < 0n ? -1n : 1n, 2n)
    return this.plus(half).truncate()
  }

  /** The nearest double, or one beside it. */
  toNumber(): number {
    const [top, bottom] = [Number(this.top), Number(this.bottom)]
    return Number.isFinite(top) && Number.isFinite(bottom) ? top / bottom : Number(this.top / this.bottom)
  }
}

/**
 * The number that a text writes in decimal, such as `0.005` or `1e-7`.
 * @throws RangeError when the text is not a number, or has too many digits
 */
export function parseDecimal(text: string): Fraction {
  const [, sign = '', whole = '', part = '', exponent = '0'] = decimal.exec(text) ?? []
  if (whole + part === '') throw new RangeError(`${JSON.stringify(text)} is not a number`)
  const shift = Number(exponent) - part.length
  if (text.length > mostDigits || Math.abs(shift) > mostDigits) throw new RangeError('a number has too many digits')
  const digits = BigInt(sign + whole + part)
  return shift < 0 ? new Fraction(digits, 10n ** BigInt(-shift)) : new Fraction(digits * 10n ** BigInt(shift))
}

/**
 * The decimal that a double stands for: the shortest text that names it.
 * @throws RangeError when it is infinite or no number
 */
export function toFraction(number: number): Fraction {
  return Number.isSafeInteger(number) ? new Fraction(BigInt(number)) : parseDecimal(String(number))
}

/** Whether `number` is a multiple of `step`, both as they are written: 0.3 is one of 0.1. */
export function isMultiple(number: number, step: number): boolean {
  if (!Number.isFinite(number)) return false
  return toFraction(number).dividedBy(toFraction(step)).isWhole()
}

/** The sum as decimals: 0.1 and 0.2 make 0.3. */
export function sumDecimals(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum.plus(toFraction(number)), new Fraction(0n)).toNumber()
}
