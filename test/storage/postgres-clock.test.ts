// The time of a store on PostgreSQL is that of the server, also where the clock of the machine is a little off.
import { openPostgresStore } from '@mediagen/storage/postgres/open.ts'
import { describe, expect, test, vi } from 'vitest'
import { useServer } from './postgres-fixture.ts'
import { hasPostgres } from './postgres-server.ts'

describe.skipIf(!hasPostgres)('with a PostgreSQL', () => {
  const { createDatabase } = useServer()

  test.each([900, -900])('a machine whose clock is %d ms ahead goes by the clock of the server', async (aheadMs) => {
    const url = await createDatabase()
    const rightMs = Date.now
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => rightMs() + aheadMs)
    try {
      await using store = await openPostgresStore({ url })
      await store.createAccount('a', 100)
      expect(Math.abs(store.nowMs() - rightMs())).toBeLessThan(450)
    } finally {
      clock.mockRestore()
    }
  })
})
