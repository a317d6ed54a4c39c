// The writer thread of SQLite that is started before anybody knows its database.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startWriterAhead } from '../../src/app/store/writer-ahead.ts'
import { readConfig } from '../../src/config.ts'
import { openSqliteStore } from '../../src/storage/sqlite/open.ts'
import { ownThreads, startWriterThread } from '../../src/storage/sqlite/threads/threads.ts'
import { createTestFolder } from './sqlite-fixture.ts'

test('a thread that was started ahead of time opens the database that it is given', async () => {
  using file = createTestFolder()
  const writerThread = startWriterThread()
  await once(writerThread, 'online')
  {
    await using store = await openSqliteStore({
      path: file.path,
      threads: { ...ownThreads, startWriter: () => writerThread },
    })
    await store.createAccount('a', 100)
  }
  await using store = await openSqliteStore({ path: file.path })
  expect(await store.listAccounts({ limit: 10, offset: 0 })).toMatchObject({ total: 1 })
})

test('a process that never tells it a database ends', async () => {
  const module = import.meta.resolve('../../src/storage/sqlite/threads/threads.ts')
  const program = `const { startWriterThread } = await import(${JSON.stringify(module)}); startWriterThread()`
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { timeout: 60_000 })
  expect((await running).stdout).toBe('')
})

test('a gateway and a server on PostgreSQL start none', () => {
  for (const settings of [{ MEDIAGEN_CORE_URL: 'http://127.0.0.1:1' }, { MEDIAGEN_DATABASE_URL: 'postgres://a@b/c' }])
    expect(startWriterAhead(readConfig(settings))).toBeUndefined()
})
