// What a credit costs, in money, exactly (P298).
import { expect, test } from 'vitest'
import { costOf, parseCreditPrice } from '../../src/core/credits/price.ts'

test.each([
  ['0.01 EUR', 340, '3.40'],
  ['0.01 EUR', 7, '0.07'],
  ['0.01 EUR', 0, '0.00'],
  ['12 JPY', 7, '84'],
  ['0.1 USD', 3, '0.3'],
  ['0.000000000001 USD', 1, '0.000000000001'],
  ['1.005 CHF', Number.MAX_SAFE_INTEGER, '9052235251014695.955'],
])('%s for %d credits', (price, credits, amount) => {
  expect(costOf(parseCreditPrice(price), credits)).toEqual({ amount, currency: price.slice(-3) })
})

test.each([
  '0 EUR',
  '0.00 EUR',
  '-1 EUR',
  '0.01',
  '0.01 Eur',
  '0.01 QQQ',
  '1e-2 EUR',
  '.5 EUR',
  '1. EUR',
  '0,01 EUR',
  '€0.01',
  '',
])('refused: %j', (written) => expect(() => parseCreditPrice(written)).toThrow('must be a price above 0'))
