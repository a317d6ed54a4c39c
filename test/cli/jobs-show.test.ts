// `jobs show` lists what a job submitted to other servers, with its verdict and its cost, also when the job has ended.
import { expect, test } from 'vitest'
import { claimOne, startJob, testError } from '../storage/fixture.ts'
import { openStoreOf } from '../test-store.ts'
import { createTestAccount, openCommandLine } from './command-line.ts'

test('what was submitted elsewhere is shown, as JSON and as text', async () => {
  await using line = openCommandLine()
  const { accountId } = await createTestAccount(line)
  let jobId: string
  {
    await using store = await openStoreOf(line.dataDir)
    jobId = (await startJob(store, accountId)).jobId
    const { token } = await claimOne(store)
    const cost = { text: '$0.04', amount: 0.04, currency: 'USD' }
    for (const upstream of [
      { n: 1, provider: 'fal', upstreamId: null, verdict: 'refused', cost: null },
      { n: 2, provider: 'replicate', upstreamId: 'pred_1', verdict: 'failed', cost },
    ] as const)
      await store.saveCheckpoint(jobId, token, { checkpoint: null, afterLoss: 'again', upstream })
    await store.finishJob(jobId, token, { status: 'failed', error: testError })
  }
  const shown = await line.json(['admin', 'jobs', 'show', jobId])
  expect(shown).toMatchObject({
    status: 'failed',
    after_loss: 'again',
    upstream_runs: [
      { n: 1, provider: 'fal', upstream_id: null, verdict: 'refused', cost: null },
      { n: 2, provider: 'replicate', upstream_id: 'pred_1', verdict: 'failed', cost: '$0.04', cost_amount: 0.04 },
    ],
  })
  const { stdout } = await line.run(['admin', 'jobs', 'show', jobId])
  expect(stdout).toMatch(
    /^upstream_runs +n=1 provider=fal verdict=refused .*n=2 provider=replicate upstream_id=pred_1/m,
  )
  expect(stdout).toContain('cost=$0.04 cost_amount=0.04 cost_currency=USD')
})
