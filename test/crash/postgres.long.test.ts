// Servers over PostgreSQL are killed with SIGKILL under load.
import { describe, test } from 'vitest'
import { hasPostgres } from '../storage/postgres-server.ts'
import { seed } from '../seed.ts'
import { killUnderLoad } from './kill-server.ts'
import { usePostgres } from './postgres.ts'
import { killRemoteRuns } from './kill-remote.ts'
import { killWhilePaying } from './kill-paid.ts'

const kills = 12

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const store = usePostgres()

  test(`${kills} kills lose, double or strand nothing that was acknowledged`, async () =>
    killUnderLoad(kills, seed, await store()))

  test(`${kills} kills repeat no run that may have cost money`, async () => killWhilePaying(kills, seed, await store()))

  test(`${kills} kills pay for no remote run twice`, async () => killRemoteRuns(kills, seed, 3, await store()))
})
