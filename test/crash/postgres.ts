// A PostgreSQL for servers that are killed.
import { afterAll, beforeAll } from 'vitest'
import { type PostgresServer, startPostgres } from '../storage/postgres-server.ts'

/** Starts one for the tests of a file; each call of the result makes a database, and returns the settings that name it. */
export function usePostgres(): () => Promise<Readonly<Record<string, string>>> {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())
  return async () => ({ MEDIAGEN_DATABASE_URL: await server.createDatabase(), MEDIAGEN_MIGRATE: 'true' })
}
