// Commands on an installation whose database is in PostgreSQL.
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPostgres, type PostgresServer, runSql, startPostgres } from '../storage/postgres-server.ts'
import { startTestApp } from '../test-app.ts'
import { createTestAccount, openClient, openCommandLine } from './command-line.ts'

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const tablesOf = (url: string) => runSql(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")

  test('migrate makes the tables; no other command does, nor a server unless it is told to', async () => {
    const url = await server.createDatabase()
    await using line = openCommandLine({ MEDIAGEN_DATABASE_URL: url })
    for (const command of [['admin', 'accounts', 'list'], ['admin', 'ledger', 'verify'], ['serve']]) {
      const { status, stderr } = await line.run(command)
      expect(status).toBe(1)
      expect(stderr).toMatch(/^mediagen: The database mediagen_test_\w+ at \S+ is empty: `mediagen migrate` .*\n$/)
    }
    expect(await tablesOf(url)).toEqual([])
    expect(existsSync(line.dataDir)).toBe(false)
    const { database } = await line.json(['migrate'])
    expect(database).toMatch(/^mediagen_test_\w+ at \//)
    expect((await tablesOf(url)).length).toBeGreaterThan(20)
    expect(await line.json(['migrate'])).toEqual({ database })
    expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ accounts: 0, problems: [] })
  })

  test('a server that is told to migrates, serves, and leaves everything to the next one', async () => {
    const url = await server.createDatabase()
    await using line = openCommandLine({ MEDIAGEN_DATABASE_URL: url, MEDIAGEN_MIGRATE: 'true' })
    const first = await line.serve()
    const account = await createTestAccount(line)
    const client = openClient(first.httpUrl, account.key)
    const { body: job } = await client.generate('test/instant/text-to-image', { prompt: 'a lighthouse' }, true)
    expect(job).toMatchObject({ status: 'succeeded' })
    expect(await first.stop()).toMatchObject({ status: 0 })
    await using second = await startTestApp({ MEDIAGEN_DATABASE_URL: url, MEDIAGEN_MIGRATE: 'false' })
    const { body: again } = await openClient(second.url, account.key).send(`/v1/jobs/${job.job_id}`)
    expect(again).toMatchObject({ job_id: job.job_id, status: 'succeeded' })
    expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ accounts: 2, jobs: 1, problems: [] })
    expect(existsSync(`${line.dataDir}/mediagen.db`)).toBe(false)
  })

  test('an address that is none, or where nobody is, ends a command with one sentence that has no password', async () => {
    await using line = openCommandLine()
    const said = async (url: string) => (await line.run(['migrate'], { MEDIAGEN_DATABASE_URL: url })).stderr
    expect(await said('mysql://ada:secret@db/x')).toBe(
      'mediagen: MEDIAGEN_DATABASE_URL must begin with postgres://, but is "mysql://ada:…@db/x".\n',
    )
    for (const [none, shown] of [
      ['postgres://ada:secret@one:5432,two:5432/x?target_session_attrs=read-write', 'one:5432,two:5432/x'],
      ['postgres://ada:secret@db:65536/x', 'db:65536/x'],
      ['postgres://ada:secret@db:5432 /x', 'db:5432 /x'],
    ] as const) {
      const sentence = await said(none)
      expect(sentence).toMatch(/^mediagen: MEDIAGEN_DATABASE_URL must be the address of one server, such as [^\n]+\n$/)
      expect(sentence).toContain(shown)
      expect(sentence).not.toContain('secret')
    }
    expect(await said('postgres://ada:secret@127.0.0.1:9/x')).toBe(
      'mediagen: The database x at 127.0.0.1:9 cannot be used: nothing answers there. Check MEDIAGEN_DATABASE_URL.\n',
    )
    expect(existsSync(line.dataDir)).toBe(false)
  })
})
