// Servers over PostgreSQL are killed with SIGKILL under load.
import { afterAll, beforeAll, describe, test } from 'vitest'
import { hasPostgres, type PostgresServer, startPostgres } from '../storage/postgres-server.ts'
import { seed } from '../seed.ts'
import { killUnderLoad } from './kill-server.ts'
import { killRemoteRuns } from './kill-remote.ts'
import { killWhilePaying } from './kill-paid.ts'

const kills = 12

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())
  const store = async () => ({ MEDIAGEN_DATABASE_URL: await server.createDatabase(), MEDIAGEN_MIGRATE: 'true' })

  test(`${kills} kills lose, double or strand nothing that was acknowledged`, async () =>
    killUnderLoad(kills, seed, await store()))

  test(`${kills} kills repeat no run that may have cost money`, async () => killWhilePaying(kills, seed, await store()))

  test(`${kills} kills pay for no remote run twice`, async () => killRemoteRuns(kills, seed, 3, await store()))
})
