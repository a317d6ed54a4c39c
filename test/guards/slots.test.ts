// Slots are given and given back, by owner and in all.
import { expect, test } from 'vitest'
import { createSlots } from '../../src/guards/slots.ts'

test('slots are limited per owner and in total, and a returned slot is free', () => {
  const slots = createSlots({ perOwner: 2, inAll: 3 })
  const a = [slots.take('a'), slots.take('a')]
  expect(slots.take('a')).toBe('perOwner')
  const b = slots.take('b')
  expect(slots.take('c')).toBe('inAll')
  expect(slots.taken()).toBe(3)
  const giveBack = a[0] as () => void
  giveBack()
  expect(slots.take('c')).toBeTypeOf('function')
  expect(slots.take('a')).toBe('inAll')
  ;(b as () => void)()
  expect(slots.take('a')).toBeTypeOf('function')
})

test('no owner means no limit per owner', () => {
  const slots = createSlots({ perOwner: 1, inAll: 2 })
  expect(slots.take(null)).toBeTypeOf('function')
  expect(slots.take(null)).toBeTypeOf('function')
  expect(slots.take(null)).toBe('inAll')
})
