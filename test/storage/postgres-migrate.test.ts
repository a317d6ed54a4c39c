// The schema of a PostgreSQL database: made, checked, and left alone where it is not ours.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { StartupError } from '../../src/core/errors.ts'
import { loadMigrations } from '../../src/storage/migrations.ts'
import { prepareDatabase } from '../../src/storage/postgres/migrate.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import { openPostgresTables } from '../../src/storage/postgres/tables.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres, runSql } from './postgres-server.ts'

const known = loadMigrations(new URL('../../src/storage/postgres/migrations/', import.meta.url))

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const { createDatabase, server } = useServer()

  /** The sentence with which opening is refused. */
  async function refusal(url: string, migrates = true): Promise<string> {
    const error = await openPostgresStore({ url, migrates }).then(
      async (store) => store.close(),
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(StartupError)
    return (error as StartupError).message
  }
  const tablesOf = (url: string) =>
    runSql(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")

  const alter = (url: string, what: string) => runSql(url, `ALTER DATABASE ${/\/(\w+)\?/.exec(url)?.[1]} ${what}`)

  test('several processes may make it at once, and opening it again changes nothing', async () => {
    const url = await server().createDatabase()
    await Promise.all(Array.from({ length: 5 }, () => prepareDatabase(url, true)))
    const made = await runSql(url, 'SELECT * FROM mediagen_migrations')
    expect(made).toMatchObject(known.map(({ name }) => ({ name })))
    await prepareDatabase(url, true)
    await prepareDatabase(url, false)
    expect(await runSql(url, 'SELECT * FROM mediagen_migrations')).toEqual(made)
  })

  test('a migration that fails leaves nothing behind', async () => {
    const url = await server().createDatabase()
    const broken = { number: 1, name: '0001-broken', sha256: 'x', sql: 'CREATE TABLE half (a TEXT); SELECT 1 / 0' }
    await expect(prepareDatabase(url, true, [broken])).rejects.toThrow('division by zero')
    expect(await tablesOf(url)).toEqual([])
  })

  test('an empty database is migrated only where that is requested', async () => {
    const url = await server().createDatabase()
    expect(await refusal(url, false)).toMatch(/^The database mediagen_test_\w+ at \/.+ is empty: `mediagen migrate`/)
    expect(await tablesOf(url)).toEqual([])
  })

  test('the tables of an extension belong to no other program', async () => {
    const url = await server().createDatabase()
    await runSql(url, 'CREATE EXTENSION pg_stat_statements')
    await (await openPostgresStore({ url, migrates: true })).close()
    expect(await tablesOf(url)).toContainEqual({ tablename: 'jobs' })
  })

  test.each([
    ["INSERT INTO mediagen_migrations VALUES (9001, '9001-future', 'ff', 0, FALSE)", /newer version of mediagen/],
    [
      "UPDATE mediagen_migrations SET sha256 = 'ff'",
      /another text of migration 0001-schema: by a version before the first/,
    ],
    [
      'ALTER TABLE mediagen_migrations DROP COLUMN compatible',
      /by a version before the first one whose databases are up/,
    ],
    ['DELETE FROM mediagen_migrations; ALTER TABLE mediagen_migrations RENAME TO migrations', /another program/],
  ])('refuses in a sentence, and leaves as it is, a database after %s', async (sql, words) => {
    const url = await createDatabase()
    await runSql(url, sql)
    const before = await tablesOf(url)
    for (const migrates of [true, false]) expect(await refusal(url, migrates)).toMatch(words)
    expect(await tablesOf(url)).toEqual(before)
  })

  test('an older schema is named, with the command that brings it forward', async () => {
    const url = await createDatabase()
    const both = [...known, { number: 9000, name: '9000-later', sha256: 'x', sql: 'SELECT 1' }]
    await expect(prepareDatabase(url, false, both)).rejects.toThrow(
      /older version of mediagen \(migration 9000-later is missing\): run `mediagen migrate`/,
    )
    await prepareDatabase(url, true, both)
    expect(await refusal(url)).toMatch(/newer version/)
  })

  /** The migrations of this program and one of a later one. */
  const withNext = (compatible: boolean, sql: string) => [
    ...known,
    { number: 9000, name: '9000-next', sha256: 'x', sql, compatible },
  ]

  test('a later schema that says it is compatible is worked with, but not copied from', async () => {
    const url = await createDatabase()
    await using open = await openPostgresStore({ url })
    const next = withNext(true, "ALTER TABLE accounts ADD COLUMN later TEXT NOT NULL DEFAULT 'x'")
    await prepareDatabase(url, true, next)
    const { accountId } = await open.createAccount('before and after', 5)
    await using opened = await openPostgresStore({ url, migrates: true })
    expect(await opened.getAccount(accountId)).toMatchObject({ available: 5 })
    await expect(openPostgresTables(url)).rejects.toThrow(/newer version of mediagen \(migration 9000-next is unknown/)
  })

  test('a migration that older servers cannot work with waits until none is at work', async () => {
    const url = await createDatabase()
    const open = await openPostgresStore({ url })
    const next = withNext(false, 'ALTER TABLE accounts RENAME COLUMN name TO title')
    await expect(prepareDatabase(url, true, next)).rejects.toThrow(
      /is in use, and servers of an older version cannot work with migration 9000-next: stop all servers, then run `mediagen migrate`\.$/,
    )
    expect((await open.createAccount('goes on', 5)).available).toBe(5)
    await open.close()
    // PostgreSQL may take a moment to notice.
    await expect
      .poll(() => runSql(url, "SELECT 1 FROM pg_stat_activity WHERE application_name = 'mediagen'"))
      .toEqual([])
    await prepareDatabase(url, true, next)
    expect(await refusal(url)).toMatch(/newer version/)
  })

  test('a server that is too old, only follows another one, or has another encoding is refused in a sentence', async () => {
    const url = await server().createDatabase()
    // A server of another version cannot be had: functions of the database say what it would say.
    const pretend = async (name: string, type: string, value: string): Promise<string> => {
      const database = await server().createDatabase()
      await runSql(
        database,
        `CREATE SCHEMA pretended; CREATE FUNCTION pretended.${name} RETURNS ${type} LANGUAGE sql AS $$ SELECT ${value} $$`,
      )
      await runSql(
        database,
        `ALTER DATABASE ${/\/(\w+)\?/.exec(database)?.[1]} SET search_path = pretended, pg_catalog, public`,
      )
      const said = await refusal(database)
      expect(await tablesOf(database)).toEqual([])
      return said
    }
    const setting = (name: string, value: string): Promise<string> =>
      pretend(
        'current_setting(name text)',
        'text',
        `CASE name WHEN '${name}' THEN '${value}' ELSE pg_catalog.current_setting(name) END`,
      )
    expect(await setting('server_version_num', '140012')).toMatch(
      /^The server of the database \S+ at \S+ is older than PostgreSQL 15; use a newer one\.$/,
    )
    expect(await setting('server_encoding', 'LATIN1')).toMatch(
      /^The database \S+ at \S+ has the encoding LATIN1; use one with UTF8\.$/,
    )
    expect(await pretend('pg_is_in_recovery()', 'boolean', 'TRUE')).toMatch(
      / takes no changes: it follows another one; use that one\.$/,
    )
    for (const database of [url, await createDatabase()]) {
      await alter(database, 'SET default_transaction_read_only = on')
      for (const migrates of [true, false])
        expect(await refusal(database, migrates)).toMatch(
          / cannot be used: the server takes no changes\. Check MEDIAGEN_DATABASE_URL\.$/,
        )
    }
    expect(await tablesOf(url)).toEqual([])
  })

  test('P213: a server that may lose what it acknowledged is refused in a sentence, unless it says that this loses nothing', async () => {
    const url = await createDatabase()
    await alter(url, 'SET mediagen.accept_data_loss = off')
    expect(await refusal(url)).toMatch(
      /^The server of the database \S+ at \S+ has fsync = off: .+ Set fsync = on; .+ SET mediagen\.accept_data_loss = on`\.$/,
    )
    await alter(url, 'SET mediagen.accept_data_loss = on')
    await (await openPostgresStore({ url })).close()
  })

  test.each([
    ['off', 'on'],
    ['local', 'local'],
    ['remote_apply', 'remote_apply'],
  ])('P213: a role with synchronous_commit = %s commits with %s', async (set, used) => {
    const url = await createDatabase()
    await alter(url, `SET synchronous_commit = ${set}`)
    await using store = await openPostgresStore({ url })
    await runSql(
      url,
      `CREATE TABLE seen AS SELECT ''::text AS setting; CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN UPDATE seen SET setting = current_setting('synchronous_commit'); RETURN NULL; END $$;
       CREATE TRIGGER sees AFTER INSERT ON accounts EXECUTE FUNCTION see()`,
    )
    await store.createAccount('a', 1)
    expect(await runSql(url, 'SELECT setting FROM seen')).toEqual([{ setting: used }])
  })

  test('an address where connections are accepted and nothing answers is given up after seconds', async () => {
    const mute = createServer().listen(0, '127.0.0.1')
    await once(mute, 'listening')
    const { port } = mute.address() as { port: number }
    expect(await refusal(`postgres://ada:secret@127.0.0.1:${port}/mediagen`)).toBe(
      `The database mediagen at 127.0.0.1:${port} cannot be used: nothing answers there. Check MEDIAGEN_DATABASE_URL.`,
    )
    mute.close()
  })

  test('who cannot be reached or entered is named, without the password', async () => {
    const url = await createDatabase()
    expect(await refusal(url.replace(/\/mediagen_test_\w+/, '/nowhere'))).toMatch(
      /^The database nowhere at \/.+ cannot be used: the server has no database of this name\. Check MEDIAGEN_DATABASE_URL\.$/,
    )
    expect(await refusal('postgres://ada:secret@127.0.0.1:9/mediagen')).toBe(
      'The database mediagen at 127.0.0.1:9 cannot be used: nothing answers there. Check MEDIAGEN_DATABASE_URL.',
    )
    await runSql(url, 'CREATE ROLE guest LOGIN')
    const empty = await server().createDatabase()
    expect(await refusal(empty.replace('test@', 'guest@'))).toMatch(/the user lacks rights there/)
    expect(await refusal(url.replace('test@', 'guest@'), false)).toMatch(/the user lacks rights there/)
  })
})
