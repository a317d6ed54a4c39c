// Places are given and given back, by owner and in all.
import { expect, test } from 'vitest'
import { createSlots } from '../../src/guards/slots.ts'

test('places are limited per owner and in total, and a returned place is free', () => {
  const places = createSlots({ perOwner: 2, inAll: 3 })
  const a = [places.take('a'), places.take('a')]
  expect(places.take('a')).toBe('perOwner')
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

test('no owner means no limit per owner', () => {
  const places = createSlots({ perOwner: 1, inAll: 2 })
  expect(places.take(null)).toBeTypeOf('function')
  expect(places.take(null)).toBeTypeOf('function')
  expect(places.take(null)).toBe('inAll')
})
