// Servers over PostgreSQL are killed with SIGKILL under load. Many more kills: postgres.long.test.ts.
import { describe, test } from 'vitest'
import { hasPostgres } from '../storage/postgres-server.ts'
import { seed } from '../seed.ts'
import { killUnderLoad } from './kill-server.ts'
import { usePostgres } from './postgres.ts'

const kills = 2

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const store = usePostgres()

  test(`${kills} kills lose, double or strand nothing that was acknowledged`, async () =>
    killUnderLoad(kills, seed, await store()))
})
