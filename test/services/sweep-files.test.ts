// The operator's sweep goes on past folders that cannot be removed, and says which.
import { createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { readAdminSettings } from '../../src/app/operator/operator.ts'
import { readConfig } from '../../src/config.ts'
import type { FilesFolder, FilesFolders } from '../../src/core/jobs/retention.ts'
import { createInProcessTransport } from '../../src/rpc/in-process.ts'
import { trustService } from '../../src/rpc/pipeline.ts'
import { createAdminService } from '../../src/services/admin/admin.ts'
import { claimOne, createHeldClock, startJob, testAsset } from '../storage/fixture.ts'
import { openTestStore } from '../test-store.ts'

test('a sweep removes what can be removed, counts that alone, and names the rest', async () => {
  const clock = createHeldClock()
  await using store = await openTestStore(clock)
  const { accountId } = await store.createAccount('a', 100)
  const expired: string[] = []
  for (let jobs = 0; jobs < 2; jobs++) {
    await startJob(store, accountId, { credits: 1, retainMs: 1000 })
    const { job, token } = await claimOne(store)
    const outputs = [{ ...testAsset, key: `${job.jobId}/0.png` }]
    await store.finishJob(job.jobId, token, { status: 'succeeded', outputs, creditsActual: 1 })
    expired.push(job.jobId)
  }
  clock.ms += 2000
  const orphans = ['job_01m7yz8n25e00b5kcj94e2afcx', 'job_02m7yz8n25e00b5kcj94e2afcx']
  const disk = new Map<string, FilesFolder>(
    [...orphans, ...expired].map((name) => [name, { name, files: 1, bytes: 10, untouchedMs: 7_200_000 }]),
  )
  const stuck = [orphans[0], expired[0]]
  const folders: FilesFolders = {
    async *list() {
      yield* disk.values()
    },
    async remove(name) {
      if (stuck.includes(name)) throw new Error('the disk is on fire')
      disk.delete(name)
    },
  }
  const settings = readAdminSettings(readConfig({}))
  const admin = createClient(
    AdminService,
    createInProcessTransport([
      trustService(
        AdminService,
        createAdminService({ store, clock, folders, settings, server: null, osUser: 'tester' }),
      ),
    ]),
  )
  const swept = await admin.sweepFiles({})
  expect(swept).toMatchObject({ expiredFiles: 1n, expiredBytes: 10n, orphanedFiles: 1n, orphanedBytes: 10n })
  expect(swept.notRemoved).toEqual(stuck.map((name) => `${name}: the disk is on fire`))
  expect([...disk.keys()]).toEqual(stuck)
  // Still due: when the disk is well again, they go.
  stuck.length = 0
  expect(await admin.sweepFiles({})).toMatchObject({ expiredFiles: 1n, orphanedFiles: 1n, notRemoved: [] })
  expect([...disk.keys()]).toEqual([])
})
