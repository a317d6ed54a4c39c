// What clients see of a job whose record was removed (MEDIAGEN_KEEP_JOBS_DAYS): no job, but its money; and a repeated start costs nothing.
// A repeated run starts anew. P43, P97, P245.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openForeignClient, toStruct } from '../rpc/foreign-client.ts'
import { startTestApp } from '../test-app.ts'
import { createTestClock } from './test-clock.ts'

const model = 'test/nothing/text-to-image'
const input = { prompt: 'x' }
const settings = { MEDIAGEN_KEEP_JOBS_DAYS: '1', MEDIAGEN_ROLES: 'api' }

test('a day after its end a job is gone, its ledger entries name it, and its start repeated is refused with quote_expired', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-kept-'))
  const clock = createTestClock()
  const open = () => startTestApp({ ...settings, MEDIAGEN_DATA_DIR: join(folder, 'data') }, { clock })
  const first = await open()
  const { key } = first.account
  const { quote_id } = await first.quote(model, input)
  const start = { key, headers: { 'idempotency-key': 'once' }, body: { model, input, quote_id } }
  const { job_id } = (await first.send('/v1/generate', start)).body
  await first.send(`/v1/jobs/${job_id}/cancel`, { method: 'POST' })
  const runOnce = { key, headers: { 'idempotency-key': 'run' }, body: { model, input, max_credits: 3 } }
  const run = (await first.send('/v1/run', runOnce)).body
  await first.send(`/v1/jobs/${run.job_id}/cancel`, { method: 'POST' })
  // The newest job stays.
  await first.send('/v1/generate', { ...start, headers: { 'idempotency-key': 'another' } })
  const wallet = (await first.send('/v1/wallet')).body
  const entries = (await first.send('/v1/wallet/entries')).body
  expect((await first.send('/v1/generate', start)).body.job_id).toBe(job_id)
  await first[Symbol.asyncDispose]()

  clock.ms += 86_400_000
  await using app = await open()
  await expect.poll(async () => (await app.send(`/v1/jobs/${job_id}`, { key })).body.code).toBe('job_not_found')
  const replay = await app.send('/v1/generate', start)
  expect([replay.status, replay.body.code]).toEqual([409, 'quote_expired'])
  using client = await openForeignClient(app.app.grpcUrl, key)
  const request = { model, input: toStruct(input), quote_id, idempotency_key: 'once' }
  expect((await client.refusal('GenerationService/StartGeneration', request)).detail.code).toBe('quote_expired')
  expect((await app.send('/v1/wallet', { key })).body).toEqual(wallet)
  expect((await app.send('/v1/wallet/entries', { key })).body).toEqual(entries)
  expect(entries.data.filter((entry: { job_id: string }) => entry.job_id === job_id)).toHaveLength(2)
  expect((await app.send('/v1/jobs', { key })).body.total).toBe(1)
  const again = await app.send('/v1/run', runOnce)
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, null])
  expect(again.body.job_id).not.toBe(run.job_id)
  rmSync(folder, { recursive: true })
})
