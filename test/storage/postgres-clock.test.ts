// The time of a store on PostgreSQL is that of the server, also where the clock of the machine is a little off.
import { describe, expect, test, vi } from 'vitest'
import { openDatabase } from '../../src/storage/postgres/connection.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
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

test('an answer that arrives late does not set the clock back; a clock that was set is followed', async () => {
  let atMs = 0
  const performed = vi.spyOn(performance, 'now').mockImplementation(() => atMs)
  // It connects only at the first statement.
  const db = openDatabase('postgres://nobody@127.0.0.1:1/none', 1, () => null)
  const answered = (what: { requestedMs: number; serverMs: number; receivedMs: number }): number => {
    atMs = what.receivedMs
    db.learnTime(what.serverMs, what.requestedMs)
    return db.nowMs()
  }
  try {
    expect(answered({ requestedMs: 0, serverMs: 1_000_000, receivedMs: 0 })).toBe(1_000_000)
    expect(answered({ requestedMs: 500, serverMs: 1_001_000, receivedMs: 5000 })).toBe(1_005_000)
    expect(answered({ requestedMs: 5990, serverMs: 2, receivedMs: 6000 })).toBe(12)
    expect(answered({ requestedMs: 6500, serverMs: 1_000_000, receivedMs: 7000 })).toBe(1_000_000)
  } finally {
    performed.mockRestore()
    await db.close()
  }
})
