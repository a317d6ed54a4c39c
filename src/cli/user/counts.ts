// Numbers as options of commands: sizes of pages, credits.
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
