// The commands that docs/when-things-go-wrong.md names for looking change nothing, with a server and without one.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/when-things-go-wrong.md'), 'utf8')
const table = page.slice(page.indexOf('## Look first'), page.indexOf('These commands work while the server runs'))
const commands = [...table.matchAll(/`mediagen ([^`]+)`/g)].map(([, written = '']) => written)

/** Every row of every table but that of the server which leads and renews its lease meanwhile, without the last use of keys, which a server notes some seconds later, and every other file below the data directory with its content's time. */
function lookAt(dataDir: string) {
  using db = Object.assign(new Database(join(dataDir, 'mediagen.db'), { readonly: true }), {
    [Symbol.dispose]: () => void db.close(),
  })
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'leaders'",
    )
    .pluck()
    .all()
  const rows = tables.map((name) => [
    name,
    db
      .prepare<[], object>(`SELECT * FROM "${name}"`)
      .all()
      .map((row) => ({ ...row, last_used_at: null })),
  ])
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('mediagen.db'))
    .map(({ parentPath, name }) => [join(parentPath, name), statSync(join(parentPath, name)).mtimeMs])
  return { rows, files }
}

test('the page names commands', () => expect(commands.length).toBeGreaterThanOrEqual(9))

test('commands that only look change nothing, while a server runs and when none does', async () => {
  await using line = openCommandLine()
  const app = await startTestApp({ MEDIAGEN_DATA_DIR: line.dataDir })
  const { body: job } = await app.generate('test/instant/text-to-image', { prompt: 'x' })
  const texts = { JOB_ID: job.job_id as string, ACCOUNT_ID: app.account.accountId }
  const lookAll = async (): Promise<void> => {
    for (const command of commands) {
      const args = command.split(' ').map((word) => texts[word as keyof typeof texts] ?? word)
      const before = lookAt(line.dataDir)
      expect(await line.run([...args, '--json']), command).toMatchObject({ status: 0 })
      expect(lookAt(line.dataDir), command).toEqual(before)
    }
  }
  await lookAll()
  await app[Symbol.asyncDispose]()
  await lookAll()
})
