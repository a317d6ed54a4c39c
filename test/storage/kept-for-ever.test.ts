// Outputs from before there was a limit are kept until the operator says so, by the statement that the docs give (P38).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { claimOne, createHeldClock, startJob, testAsset } from './fixture.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

const docs = readFileSync(join(import.meta.dirname, '../../docs/when-things-go-wrong.md'), 'utf8')

test('outputs that are kept for ever go when the operator says so, and no others', async () => {
  using file = createTestFolder()
  const clock = createHeldClock()
  await using store = await openStoreAt(file.path, { clock })
  const { accountId } = await store.createAccount('a', 100)
  const made: string[] = []
  for (const retainMs of [null, 1e12]) {
    await startJob(store, accountId, { credits: 1, retainMs })
    const { job, token } = await claimOne(store)
    const outputs = [{ ...testAsset, key: `${job.jobId}/0.png` }]
    await store.finishJob(job.jobId, token, { status: 'succeeded', outputs, creditsActual: 1 })
    made.push(job.jobId)
  }
  clock.ms += 365 * 86_400_000
  expect(await store.expireFiles(10)).toEqual([])

  const statement = /UPDATE jobs SET outputs_gone[^;]*;/.exec(docs)?.[0]
  expect(statement).toBeDefined()
  using db = openRaw(file.path)
  db.exec(statement as string)
  expect(await store.expireFiles(10)).toEqual([{ folder: made[0], jobId: made[0] }])
  expect(await store.getJob(accountId, made[0] as string)).toMatchObject({ outputsGone: true })
  expect(await store.getJob(accountId, made[1] as string)).toMatchObject({ outputsGone: false })
})
