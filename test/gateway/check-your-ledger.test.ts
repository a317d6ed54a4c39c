// P290: the program of docs/check-your-ledger.md, run as it stands there, against a server.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { openRaw } from '../storage/sqlite-fixture.ts'
import { startTestApp } from '../test-app.ts'

const app = await startTestApp()
const folder = mkdtempSync(join(tmpdir(), 'mediagen-check-'))
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await app[Symbol.asyncDispose]()
})

const page = readFileSync(join(import.meta.dirname, '../../docs/check-your-ledger.md'), 'utf8')
const program = join(folder, 'check.mjs')
writeFileSync(program, /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? '')

/** Runs the program. @param environment of it */
async function check(environment: Readonly<Record<string, string>>): Promise<string> {
  const env = { ...process.env, NO_PROXY: '127.0.0.1', MEDIAGEN_URL: app.url, ...environment }
  return (await promisify(execFile)(process.execPath, [program], { env })).stdout
}

test('the program reads all entries, and knows a kept hash again', async () => {
  const { accountId, key } = app.account
  await app.generate('test/nothing/text-to-image', { prompt: 'x' })
  const kept = /newest hash ([0-9a-f]{64})/.exec(await check({ MEDIAGEN_KEY: key }))?.[1] ?? ''
  await app.admin.grantCredits({ accountId, credits: 5n, note: 'für Mai “写”', reference: 'pay_1' })
  expect(await check({ MEDIAGEN_KEY: key, KEPT_HASH: kept })).toMatch(/^4 entries, newest hash [0-9a-f]{64}\n$/)
  await expect(check({ MEDIAGEN_KEY: key, KEPT_HASH: '0'.repeat(64) })).rejects.toThrow('is gone')
})

test.each([
  ['note', "UPDATE ledger_entries SET note = 'a loan' WHERE account_id = :accountId AND number = 2"],
  ['reference', "UPDATE grant_references SET reference = 'pay_9' WHERE account_id = :accountId"],
  [
    'reference, which has its note',
    `UPDATE ledger_entries SET note = NULL WHERE account_id = :accountId AND number = 2;
     UPDATE grant_references SET reference = reference || char(10) || 'a gift' WHERE account_id = :accountId`,
  ],
])('the program names an entry that was changed past the server: its %s', async (_, changes) => {
  const { accountId, key } = await app.createAccount(7)
  await app.admin.grantCredits({ accountId, credits: 5n, note: 'a gift', reference: `for ${accountId}` })
  {
    using db = openRaw(join(app.config.dataDir, 'mediagen.db'))
    db.exec('DROP TRIGGER IF EXISTS ledger_entries_stand; DROP TRIGGER IF EXISTS grant_references_stand')
    for (const change of changes.split(';')) db.prepare(change).run({ accountId })
  }
  const { data } = (await app.send('/v1/wallet/entries', { key })).body
  await expect(check({ MEDIAGEN_KEY: key })).rejects.toThrow(`${data[0].entry_id} is not what was written`)
})
