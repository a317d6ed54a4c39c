// Servers over PostgreSQL are killed with SIGKILL under load. Many more kills: postgres.long.test.ts.
import { afterAll, beforeAll, describe, test } from 'vitest'
import { hasPostgres, type PostgresServer, startPostgres } from '../storage/postgres-server.ts'
import { seed } from '../seed.ts'
import { killUnderLoad } from './kill-server.ts'

const kills = 2

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())
  const store = async () => ({ MEDIAGEN_DATABASE_URL: await server.createDatabase(), MEDIAGEN_MIGRATE: 'true' })

  test(`${kills} kills lose, double or strand nothing that was acknowledged`, async () =>
    killUnderLoad(kills, seed, await store()))
})
