// Places are given and given back, by account and in all.
import { expect, test } from 'vitest'
import { createPlaces } from '../../src/services/places.ts'

test('an account has so many, all have so many, and what is given back is free', () => {
  const places = createPlaces({ perAccount: 2, inAll: 3 })
  const a = [places.take('a'), places.take('a')]
  expect(places.take('a')).toBe('perAccount')
  const b = places.take('b')
  expect(places.take('c')).toBe('inAll')
  expect(places.taken()).toBe(3)
  const giveBack = a[0] as () => void
  giveBack()
  expect(places.take('c')).toBeTypeOf('function')
  expect(places.take('a')).toBe('inAll')
  ;(b as () => void)()
  expect(places.take('a')).toBeTypeOf('function')
})
