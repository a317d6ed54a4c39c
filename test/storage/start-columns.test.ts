// What a start writes stays as it is, and what was spent adds up: rules of the database itself (P61, P226).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startJob } from './fixture.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

const file = createTestFolder()

beforeAll(async () => {
  await using store = await openStoreAt(file.path)
  await startJob(store, (await store.createAccount('a', 1000)).accountId)
})
afterAll(() => file[Symbol.dispose]())

function attempt(sql: string): void {
  using db = openRaw(file.path)
  db.exec(sql)
}

// What becomes of a job; everything else is what it was started with.
const changing =
  `status progress credits_charged credits_released outputs error checkpoint after_loss attempts token worker lease_until
  preview_key cancel_requested sequence started_at finished_at lost_runs available_at outputs_gone removal_at deleted_at made_by`.split(
    /\s+/,
  )

test('no column that a start writes can change', () => {
  using db = openRaw(file.path)
  const columns = db.pragma('table_info(jobs)') as { name: string }[]
  const started = columns.map(({ name }) => name).filter((name) => !changing.includes(name))
  expect(started).toContain('day')
  for (const name of started)
    expect(() => attempt(`UPDATE jobs SET ${name} = ${name}`), name).toThrow('does not change')
})

describe('what keys and accounts have spent', () => {
  test.each([
    ['less than nothing is held', 'UPDATE spending SET held = -1', 'CHECK'],
    ['less than nothing is charged', 'UPDATE spending SET charged = -1', 'CHECK'],
    ['a limit that is no JSON', "UPDATE accounts SET limits = 'x'", 'CHECK'],
    [
      'another maker',
      "INSERT INTO api_keys (key_id, account_id, prefix, secret_hash, permissions, created_at) SELECT 'key_m', account_id, 'p', randomblob(32), '[]', 1 FROM accounts LIMIT 1; UPDATE api_keys SET maker_id = 'key_m'",
      'does not change',
    ],
  ])('%s is refused', (_what, sql, words) => {
    expect(() => attempt(sql)).toThrow(words)
  })
})
