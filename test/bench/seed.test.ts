// The benchmarks fill databases by bulk SQL, which the schema must still take.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createBenchAccount, order } from '../../bench/accounts.ts'
import { seedJobs } from '../../bench/seed.ts'
import { openStore } from '../../src/app/store/store.ts'

test('seeded jobs fit the schema, add up and can be claimed and ended', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'mediagen-seed-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const { accountId } = await createBenchAccount(dataDir)
  seedJobs(dataDir, { accountId, jobs: 5, succeeded: 2 })
  await using store = await openStore({ dataDir })
  const claim = { worker: 'bench', room: { [order.model]: 8 }, limit: 8, leaseMs: 60_000 }
  const claimed = await store.claimJobs(claim)
  expect(claimed.map(({ input }) => input)).toEqual([order.input, order.input, order.input])
  for (const { job, token } of claimed)
    await store.finishJob(job.jobId, token, { status: 'succeeded', outputs: [], creditsActual: job.creditsHeld })
  expect(await store.verifyLedger()).toMatchObject({ problems: [] })
})
