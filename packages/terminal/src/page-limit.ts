// The size of a page as an option of a command.
import { pageBounds } from '@mediagen/core/page.ts'
import { InvalidArgumentError } from 'commander'

/** @throws InvalidArgumentError unless it is a whole number within the bounds of pages */
export function parsePageLimit(written: string): number {
  const limit = Number(written)
  if (!/^\d+$/.test(written) || limit < 1 || limit > pageBounds.largestLimit)
    throw new InvalidArgumentError(`It must be a whole number, 1 to ${pageBounds.largestLimit}.`)
  return limit
}
