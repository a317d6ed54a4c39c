// What a credit costs in money, exactly.

/** So many units of 10^-`decimals` of a currency for each credit. */
export interface CreditPrice {
  readonly units: bigint
  readonly decimals: number
  /** A code of ISO 4217. */
  readonly currency: string
}

/** An amount of money: a decimal, such as `1.25`, and a currency. */
export interface Money {
  readonly amount: string
  readonly currency: string
}

const written = /^(\d{1,12})(?:\.(\d{1,12}))? ([A-Z]{3})$/

/** Reads a price such as `0.01 EUR`. @throws Error whose message completes "NAME must be …" */
export function parseCreditPrice(text: string): CreditPrice {
  const [, whole = '', part = '', currency = ''] = written.exec(text) ?? []
  const units = BigInt(whole + part)
  if (units === 0n || !Intl.supportedValuesOf('currency').includes(currency))
    throw new Error('must be a price above 0 and the ISO 4217 code of a currency, such as `0.01 EUR`')
  return { units, decimals: part.length, currency }
}

/** What credits cost, with the decimals that the price has. */
export function costOf({ units, decimals, currency }: CreditPrice, credits: number): Money {
  const digits = (units * BigInt(credits)).toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  return { amount: decimals === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`, currency }
}
