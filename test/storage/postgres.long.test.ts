// The PostgreSQL store: the contract of the port.
import { describe } from 'vitest'
import { storeContract } from './contract.ts'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres } from './postgres-server.ts'

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const { openStore } = useServer()
  storeContract('PostgreSQL', openStore)
})
