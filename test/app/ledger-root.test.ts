// P292: the root of the ledger is in the log once a day, of one process.
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createLedgerRootLog } from '../../src/app/observe/ledger-root.ts'
import { createHeldClock } from '../storage/fixture.ts'
import { openTestStore } from '../test-store.ts'

test('the root is logged once a day by the process that leads, and changes with the ledger', async () => {
  const clock = createHeldClock()
  await using store = await openTestStore(clock)
  await using other = await store.another('other')
  const { accountId } = await store.createAccount('a', 10)
  const lines: { root: string; accounts: number }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const looks = [store, other].map((one) => createLedgerRootLog({ store: one, log }))
  const lookAll = async () => {
    for (const look of looks) await look()
  }
  await lookAll()
  await lookAll()
  expect(lines).toEqual([expect.objectContaining({ accounts: 1, root: (await store.verifyLedger()).root })])
  await store.grantCredits(accountId, 1, null)
  clock.ms += 86_400_000
  await lookAll()
  expect(lines).toHaveLength(2)
  expect(lines[1]?.root).toBe((await store.readLedgerRoot()).root)
  expect(lines[1]?.root).not.toBe(lines[0]?.root)
})
