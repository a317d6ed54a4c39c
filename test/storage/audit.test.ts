// Audit entries in SQLite: nobody changes them, and no act is without one.
import { expect, test } from 'vitest'
import { firstPage } from './fixture.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

test.each([
  ["UPDATE audit_entries SET after = '{}'", 'does not change'],
  ['UPDATE audit_entries SET number = 7', 'does not change'],
  ['DELETE FROM audit_entries', 'never deleted'],
  ['INSERT OR REPLACE INTO audit_entries SELECT * FROM audit_entries', 'are appended'],
  [
    "INSERT INTO audit_entries (number, entry_id, actor, act, subject, created_at) VALUES (3, 'audit_x', 'system', 'x', 'x', 0)",
    'are appended, one by one',
  ],
  [
    "INSERT INTO audit_entries (number, entry_id, actor, act, subject, created_at) VALUES (2, 'audit_x', 'key', 'x', 'x', 0)",
    'somebody_acts',
  ],
  [
    "INSERT INTO audit_entries (number, entry_id, actor, act, subject, created_at) VALUES (2, 'audit_x', 'nobody', 'x', 'x', 0)",
    'somebody_acts',
  ],
])('the database refuses %s', async (sql, message) => {
  using file = createTestFolder()
  const store = await openStoreAt(file.path)
  await store.createAccount('a', 1)
  await store.close()
  using db = openRaw(file.path)
  expect(() => db.exec(sql)).toThrow(message)
})

test('an act that cannot be recorded does not happen', async () => {
  using file = createTestFolder()
  await using store = await openStoreAt(file.path)
  const { accountId } = await store.createAccount('a', 1)
  {
    using db = openRaw(file.path)
    db.exec(
      "CREATE TRIGGER broken BEFORE INSERT ON audit_entries BEGIN SELECT RAISE(ABORT, 'the record is broken'); END",
    )
  }
  const acts: unknown[] = []
  store.onAct((entry) => acts.push(entry))
  await expect(store.grantCredits(accountId, 5, null)).rejects.toThrow('the record is broken')
  await expect(store.createAccount('b', 0)).rejects.toThrow('the record is broken')
  expect(await store.getAccount(accountId)).toMatchObject({ available: 1 })
  expect((await store.listAccounts(firstPage)).total).toBe(1)
  expect((await store.listEntries(accountId, firstPage)).total).toBe(1)
  expect(acts).toEqual([])
})

test('acts of an account are found by an index', async () => {
  using file = createTestFolder()
  await (await openStoreAt(file.path)).close()
  using db = openRaw(file.path)
  const plan = db
    .prepare<[], { detail: string }>(
      "EXPLAIN QUERY PLAN SELECT act FROM audit_entries WHERE account_id = 'x' ORDER BY number DESC LIMIT 5",
    )
    .all()
    .map(({ detail }) => detail)
  expect(plan).toEqual([expect.stringContaining('INDEX audit_entries_by_account (account_id=?)')])
})
