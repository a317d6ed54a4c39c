// Outputs that the command line fetches.
import type { Job } from '@mediagen/client/client.ts'
import { expect, test } from 'vitest'
import { writeOutputs } from '../../src/cli/user/outputs.ts'
import { StartupError } from '../../src/core/errors.ts'

test('an output that cannot be downloaded is told in a sentence, with what was charged and how to fetch it', async () => {
  const job = {
    job_id: 'job_1',
    outputs: [{ url: 'http://127.0.0.1/gone' }],
    billing: { charged: 3 },
  } as unknown as Job
  const download = async (): Promise<never> => {
    throw new Error('The file could not be downloaded: HTTP 404.')
  }
  const failure: unknown = await writeOutputs({ download }, job, undefined).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(StartupError)
  expect((failure as Error).message).toBe(
    'The file could not be downloaded: HTTP 404. The job has succeeded for 3 credits; “mediagen watch job_1” downloads it again.',
  )
})
