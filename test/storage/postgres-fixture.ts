// What the tests of the PostgreSQL store share: a database of its own for each, as a copy of one that is migrated.
import { afterAll, beforeAll } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import type { OpenTestStore } from './fixture.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** Starts a server for the tests of a file. @param toAddress how its databases are reached */
export function useServer(toAddress: (url: string) => { url: string; listenUrl?: string } = (url) => ({ url })) {
  let server: PostgresServer
  let template: string
  beforeAll(async () => {
    server = await startPostgres()
    template = await server.createDatabase()
    await (await openPostgresStore({ url: template, migrates: true })).close()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const createDatabase = (): Promise<string> => server.createDatabase(template)
  const openStore: OpenTestStore = async (clock) => {
    const url = await createDatabase()
    const options = { ...toAddress(url), ...(clock !== undefined && clock !== systemClock && { clock }) }
    const store = await openPostgresStore(options)
    return {
      ...store,
      another: (name) => openPostgresStore({ ...options, ...(name !== undefined && { name }) }),
      async [Symbol.asyncDispose]() {
        await store.close()
        await server.dropDatabase(url)
      },
    }
  }
  return { createDatabase, openStore, server: () => server }
}
