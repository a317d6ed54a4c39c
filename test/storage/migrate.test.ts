// Migrations and refusals: what a migration leaves, and every file or folder that the store does not touch, with the sentence that says why.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { StartupError } from '../../src/core/errors.ts'
import { openFile, setPragmas, toStartupError } from '../../src/storage/sqlite/connection.ts'
import { loadMigrations, migrate } from '../../src/storage/sqlite/migrate.ts'
import { openSqliteStore } from '../../src/storage/sqlite/open.ts'
import { openSqliteTables } from '../../src/storage/sqlite/tables.ts'
import { noThreads } from '../../src/storage/sqlite/threads/no-threads.ts'
import { ownThreads } from '../../src/storage/sqlite/threads/threads.ts'
import { createTestFolder, openRaw, openStoreAt } from './sqlite-fixture.ts'

async function refusal(path: string, threads = noThreads): Promise<string> {
  const error: unknown = await openSqliteStore({ path, threads }).then(
    (store) => store.close(),
    (reason: unknown) => reason,
  )
  if (!(error instanceof StartupError)) throw new Error('the store opened', { cause: error })
  return error.message
}

async function makeDatabase(path: string, sql = ''): Promise<void> {
  const store = await openStoreAt(path)
  await store.createAccount('kept', 5)
  await store.close()
  using db = openRaw(path)
  db.exec(sql)
}

test('a new database is sound', async () => {
  using file = createTestFolder()
  await (await openSqliteStore({ path: file.path })).close()
  using db = openRaw(file.path)
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
})

test('the settings of a connection are the durable ones', () => {
  using file = createTestFolder()
  const db = openFile(file.path)
  setPragmas(db)
  migrate(db, file.path, 0)
  const names = [
    'journal_mode',
    'synchronous',
    'foreign_keys',
    'busy_timeout',
    'wal_autocheckpoint',
    'journal_size_limit',
    'cache_size',
    'temp_store',
    'mmap_size',
  ]
  expect(Object.fromEntries(names.map((name) => [name, db.pragma(name, { simple: true })]))).toEqual({
    journal_mode: 'wal',
    synchronous: 2,
    foreign_keys: 1,
    busy_timeout: 5000,
    wal_autocheckpoint: 4000,
    journal_size_limit: 67108864,
    cache_size: -65536,
    temp_store: 2,
    mmap_size: 0,
  })
  db.close()
})

test('a later migration is applied once to an existing database', async () => {
  using file = createTestFolder()
  await makeDatabase(file.path)
  using db = openRaw(file.path)
  const next = { number: 9000, name: '9000-later', sha256: 'x', sql: 'ALTER TABLE accounts ADD COLUMN later TEXT' }
  migrate(db, file.path, 77, [...loadMigrations(), next])
  migrate(db, file.path, 78, [...loadMigrations(), next])
  expect(db.prepare('SELECT number, applied_at FROM migrations WHERE number >= 9000').all()).toEqual([
    { number: 9000, applied_at: 77 },
  ])
  expect(db.prepare('SELECT name, later FROM accounts').all()).toEqual([{ name: 'kept', later: null }])
})

test('a later migration that says it is compatible is worked with, but not copied from', async () => {
  using file = createTestFolder()
  await makeDatabase(file.path)
  {
    using db = openRaw(file.path)
    const sql = "ALTER TABLE accounts ADD COLUMN later TEXT NOT NULL DEFAULT 'x'"
    const next = { number: 9000, name: '9000-later', sha256: 'x', sql, compatible: true }
    migrate(db, file.path, 77, [...loadMigrations(), next])
  }
  for (const migrates of [true, false]) {
    await using store = await openStoreAt(file.path, { migrates })
    expect(await store.createAccount('new', 1)).toMatchObject({ available: 1 })
  }
  expect(() => openSqliteTables(file.path)).toThrow(/newer version of mediagen \(migration 9000-later is unknown/)
})

test('a migration that fails leaves nothing of itself', async () => {
  using file = createTestFolder()
  await makeDatabase(file.path)
  using db = openRaw(file.path)
  const broken = {
    number: 9000,
    name: '9000-broken',
    sha256: 'x',
    sql: 'CREATE TABLE half (a TEXT); CREATE TABLE accounts (a TEXT)',
  }
  expect(() => migrate(db, file.path, 0, [...loadMigrations(), broken])).toThrow('already exists')
  expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").pluck().get()).toBe(0)
  expect(db.prepare('SELECT count(*) FROM migrations').pluck().get()).toBe(loadMigrations().length)
})

describe('refuses, in one sentence, and leaves as it is', () => {
  test('a database of a newer version', async () => {
    using file = createTestFolder()
    await makeDatabase(file.path, "INSERT INTO migrations VALUES (9001, '9001-future', 'ff', 0, 0)")
    const before = readFileSync(file.path)
    for (const threads of [ownThreads, noThreads])
      expect(await refusal(file.path, threads)).toMatch(
        /newer version of mediagen \(migration 9001-future is unknown here\)/,
      )
    expect(readFileSync(file.path)).toEqual(before)
  })

  test('a database whose migration had another text', async () => {
    using file = createTestFolder()
    await makeDatabase(file.path, "UPDATE migrations SET sha256 = 'ff'")
    const before = readFileSync(file.path)
    expect(await refusal(file.path)).toMatch(/another text of migration 0001-/)
    expect(readFileSync(file.path)).toEqual(before)
  })

  test.each([
    ['had no column for compatible ones', 'ALTER TABLE migrations DROP COLUMN compatible'],
    ['had another first one', "UPDATE migrations SET sha256 = 'ff' WHERE number = 1"],
  ])('a database from before the first version that is upgraded: its list of migrations %s', async (_, sql) => {
    using file = createTestFolder()
    await makeDatabase(file.path, sql)
    const before = readFileSync(file.path)
    expect(await refusal(file.path)).toMatch(
      /by a version before the first one whose databases are upgraded, or by an altered one\. It was left as it is\. Start the version that made it, or begin with a new database\.$/,
    )
    expect(readFileSync(file.path)).toEqual(before)
  })

  test('a database of another program', async () => {
    using file = createTestFolder()
    {
      using db = openRaw(file.path)
      db.exec('CREATE TABLE recipes (a TEXT)')
    }
    const before = readFileSync(file.path)
    expect(await refusal(file.path)).toMatch(/belongs to another program/)
    expect(readFileSync(file.path)).toEqual(before)
  })

  test('a file that is not a database', async () => {
    using file = createTestFolder()
    writeFileSync(file.path, 'Dear diary, '.repeat(500))
    expect(await refusal(file.path)).toMatch(/is not a database/)
    expect(readFileSync(file.path, 'utf8')).toBe('Dear diary, '.repeat(500))
  })

  test('a folder in place of the file', async () => {
    using file = createTestFolder()
    mkdirSync(file.path)
    expect(await refusal(file.path)).toMatch(/cannot be opened or created/)
  })

  test('a folder that does not exist', async () => {
    using file = createTestFolder()
    expect(await refusal(join(file.folder, 'no', 'where.db'))).toMatch(/does not exist/)
  })

  test.runIf(process.platform === 'linux')('a folder in which nothing can be created', async () => {
    expect(await refusal('/proc/mediagen.db')).toMatch(/cannot be opened or created/)
  })

  // Permissions do not bind root.
  test.skipIf(process.getuid?.() === 0)('a folder or file without write permission', async () => {
    using file = createTestFolder()
    await makeDatabase(file.path)
    chmodSync(file.path, 0o444)
    expect(await refusal(file.path)).toMatch(/cannot be written/)
    chmodSync(file.path, 0o644)
    chmodSync(file.folder, 0o555)
    expect(await refusal(file.path)).toMatch(/cannot be written/)
    chmodSync(file.folder, 0o755)
  })

  test.each([
    ['SQLITE_FULL', 'disk that holds the database x.db is full'],
    ['SQLITE_READONLY_DIRECTORY', 'cannot be written'],
    ['SQLITE_IOERR_WRITE', 'disk failed'],
    ['SQLITE_CORRUPT', 'is damaged'],
    ['SQLITE_BUSY', 'locked by another program'],
  ])('%s has words', (code, words) => {
    const error = toStartupError(new Database.SqliteError('low level', code), 'x.db')
    expect(error).toBeInstanceOf(StartupError)
    expect(error).toMatchObject({ message: expect.stringContaining(words) })
  })
})
