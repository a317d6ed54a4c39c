// PostgreSQL behind PgBouncer, which gives each transaction another session: the contract of the store, and a fleet under load.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCommandLine } from '../cli/command-line.ts'
import { openUnderLoad } from '../fleet/fleet.ts'
import { storeContract } from './contract.ts'
import { type Pooler, startPgBouncer, whyNoPgBouncer } from './pgbouncer.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres } from './postgres-server.ts'

const isOurs = process.env['MEDIAGEN_TEST_POSTGRES_URL'] === undefined

describe.skipIf(!hasPostgres || !isOurs || whyNoPgBouncer !== '')(`behind PgBouncer${whyNoPgBouncer}`, () => {
  let pooler: Pooler
  const { createDatabase, openStore, server } = useServer((url) => ({ url: pooler.through(url), listenUrl: url }))
  beforeAll(async () => {
    pooler = await startPgBouncer(server().url)
  })
  afterAll(() => pooler[Symbol.asyncDispose]())

  storeContract('PostgreSQL behind PgBouncer', openStore)

  test('a fleet starts, waits and cancels, and goes on after the database was restarted', async () => {
    const url = await createDatabase()
    await using fleet = await openUnderLoad({
      MEDIAGEN_DATABASE_URL: pooler.through(url),
      MEDIAGEN_DATABASE_LISTEN_URL: url,
    })
    await server().crash()
    await server().restart()
    expect(await fleet.load.goesOn()).toBeLessThan(20)
    await fleet.check('restarted behind PgBouncer')
  })

  test('without an address for notifications a server ends at once, and names MEDIAGEN_DATABASE_LISTEN_URL', async () => {
    await using line = openCommandLine({ MEDIAGEN_DATABASE_URL: pooler.through(await createDatabase()) })
    const { status, stderr } = await line.spawn(['serve'])
    expect(stderr).toMatch(
      /^mediagen: PostgreSQL tells no news of changes here: set MEDIAGEN_DATABASE_LISTEN_URL [^\n]+\n$/,
    )
    expect(status).toBe(1)
  })
})
