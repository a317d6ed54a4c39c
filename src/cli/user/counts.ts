// Numbers as options of commands: sizes of pages, credits.
import { mostVariations } from '@mediagen/client/variations.ts'
import { InvalidArgumentError } from 'commander'
import { pageBounds } from '../../core/page.ts'

/** @throws InvalidArgumentError unless it is a whole number within the bounds of pages */
export function parsePageLimit(written: string): number {
  const limit = Number(written)
  if (!/^\d+$/.test(written) || limit < 1 || limit > pageBounds.largestLimit)
    throw new InvalidArgumentError(`It must be a whole number, 1 to ${pageBounds.largestLimit}.`)
  return limit
}

/** @throws InvalidArgumentError unless it is a whole number of credits */
export function parseCount(written: string): number {
  if (!/^\d{1,15}$/.test(written)) throw new InvalidArgumentError('It must be a whole number of credits, 0 or more.')
  return Number(written)
}

/** @throws InvalidArgumentError unless a set may have so many generations */
export function parseSetCount(written: string): number {
  const count = Number(written)
  if (!/^\d+$/.test(written) || count < 1 || count > mostVariations)
    throw new InvalidArgumentError(`It must be a whole number, 1 to ${mostVariations}.`)
  return count
}
