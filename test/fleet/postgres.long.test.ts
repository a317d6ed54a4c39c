// A fleet under load, whose PostgreSQL goes away and comes back.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPostgres, type PostgresServer, startPostgres } from '../storage/postgres-server.ts'
import { startFleet } from './fleet.ts'
import { startLoad } from './load.ts'

const isOurs = process.env['MEDIAGEN_TEST_POSTGRES_URL'] === undefined

describe.skipIf(!hasPostgres || !isOurs)('a fleet under load, with a PostgreSQL of its own', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('the database is killed and started again', async () => {
    await using fleet = await startFleet({ MEDIAGEN_DATABASE_URL: await server.createDatabase() })
    const { line, apis, models } = fleet
    const load = await startLoad({ line, doors: apis.map(({ httpUrl }) => httpUrl), models })
    await load.more(100)
    await server.crash()
    await server.restart()
    await load.goesOn()
    await load.more(100)
    await load.check()
    expect(fleet.dead()).toEqual([])
  })
})
