// What the command line says of the money of a job that did not succeed.
import { expect, test } from 'vitest'
import { describeCharge } from '../../src/cli/user/words.ts'
import { canceledError, unknownOutcomeError, usageUnknownError } from '../../src/core/jobs/loss.ts'

test('the charge is told once, and not while it is undecided', () => {
  expect(describeCharge(0, 'It broke.')).toBe(' Nothing was charged.')
  expect(describeCharge(1, 'It broke.')).toBe(' 1 credit was charged.')
  for (const { message } of [canceledError, unknownOutcomeError, usageUnknownError])
    expect(describeCharge(0, message), message).toBe('')
})
