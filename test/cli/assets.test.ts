// `mediagen assets`: what files take, and removing what is over or belongs to nothing.
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { createOperatorTransport } from '../../src/app/operator/operator.ts'
import { readConfig } from '../../src/config.ts'
import { startTestApp } from '../test-app.ts'
import { openStoreOf } from '../test-store.ts'
import { openCommandLine } from './command-line.ts'

const hourMs = 3_600_000

test('usage tells of outputs, what has expired and orphans; a sweep removes the latter two, a dry run nothing', async () => {
  await using cli = openCommandLine()
  const { dataDir } = cli
  // Stands still: nothing expires but when the test says so.
  const clock = { ms: Date.now(), nowMs: () => clock.ms }
  await using app = await startTestApp({ MEDIAGEN_DATA_DIR: dataDir }, { clock })
  const assets = join(dataDir, 'assets')
  const { body: job } = await app.generate('test/instant/text-to-image', { prompt: 'x' })
  const orphan = join(assets, 'job_01m7yz8n25e00b5kcj94e2afcx')
  mkdirSync(orphan)
  writeFileSync(join(orphan, '0.png'), 'left by a crash')
  const old = new Date(Date.now() - 2 * hourMs)
  utimesSync(join(orphan, '0.png'), old, old)
  utimesSync(orphan, old, old)

  const usage = await cli.json(['admin', 'assets', 'usage'])
  expect(usage).toMatchObject([
    { account_id: app.account.accountId, kind: 'outputs' },
    { account_id: null, kind: 'orphans', files: 1, bytes: 15 },
  ])
  expect(await cli.json(['admin', 'assets', 'sweep', '--dry-run'])).toEqual({
    dry_run: true,
    expired_files: 0,
    expired_bytes: 0,
    orphaned_files: 1,
    orphaned_bytes: 15,
    not_removed: [],
  })
  expect(existsSync(orphan)).toBe(true)
  expect(await cli.json(['admin', 'assets', 'sweep'])).toMatchObject({ dry_run: false, orphaned_files: 1 })
  expect(existsSync(orphan)).toBe(false)
  expect(existsSync(join(assets, job.job_id))).toBe(true)

  // By a clock that is a year ahead.
  await using store = await openStoreOf(dataDir, { nowMs: () => clock.ms + 365 * 24 * hourMs })
  const admin = createClient(AdminService, createOperatorTransport(store, readConfig({ MEDIAGEN_DATA_DIR: dataDir })))
  expect((await admin.measureFiles({})).usage).toMatchObject([{ accountId: app.account.accountId, kind: 'expired' }])
  const swept = await admin.sweepFiles({})
  expect(Number(swept.expiredFiles)).toBeGreaterThan(0)
  expect(existsSync(join(assets, job.job_id))).toBe(false)
  expect((await app.send(`/v1/jobs/${job.job_id}`)).body.outputs[0]).toMatchObject({ url: null, expired: true })
})

test('rotate-key: URLs of the old key work until they are revoked, on the servers that run and on record', async () => {
  await using cli = openCommandLine()
  await using app = await startTestApp({ MEDIAGEN_DATA_DIR: cli.dataDir })
  const { body: job } = await app.generate('test/instant/text-to-image', { prompt: 'x' })
  const [{ url }] = job.outputs
  const numberOf = (signed: string) => new URL(signed).searchParams.get('signature')?.split('.')[0]
  expect(numberOf(url)).toBe('1')
  expect(await cli.json(['admin', 'assets', 'rotate-key'])).toEqual({ key_number: 2 })
  expect((await fetch(url)).status).toBe(200)
  expect(await cli.json(['admin', 'assets', 'rotate-key', '--revoke'])).toEqual({ key_number: 3 })
  await expect.poll(async () => (await fetch(url)).status).toBe(404)
  const fresh = (await app.send(`/v1/jobs/${job.job_id}`)).body.outputs[0].url
  expect([numberOf(fresh), (await fetch(fresh)).status]).toEqual(['3', 200])
  expect(await cli.json(['admin', 'audit', 'list', '--limit', '2'])).toMatchObject([
    { act: 'signing_key.rotated', subject: 'asset', before: { number: 2 }, after: { number: 3, revoked: 2 } },
    { act: 'signing_key.rotated', subject: 'asset', before: { number: 1 }, after: { number: 2 } },
  ])
})
