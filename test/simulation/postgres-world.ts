// A store on PostgreSQL for histories: the store as servers open it, on a database of its own.
import type { Store } from '../../src/core/store.ts'
import { openDatabase } from '../../src/storage/postgres/connection.ts'
import { openPostgresStore } from '../../src/storage/postgres/open.ts'
import { testDatabases } from '../test-store.ts'
import type { Submission, World } from './world.ts'

/** Creates an empty store. */
export async function createPostgresWorld(nowMs: number): Promise<World> {
  const { createDatabase, dropDatabase } = testDatabases()
  const url = await createDatabase()
  const rawly = openDatabase(url, 1, () => null)
  // Notifications are hints, and nobody here waits for them.
  const open = () => openPostgresStore({ url, connections: 2, listens: false, clock: { nowMs: () => world.nowMs } })

  let commands = 0
  function counted<Answer>(command: Promise<Answer>): Promise<Answer> {
    return command.finally(() => (commands += 1))
  }

  const perform = ({ name, args }: Submission): Promise<unknown> =>
    counted((store[name] as (...args: unknown[]) => Promise<unknown>)(...args))

  // eslint-disable-next-line -- `open` reads the clock of what it is a part of, later.
  const world: World = {
    nowMs,
    run: (name, ...args) => perform({ name, args } as Submission) as ReturnType<Store[typeof name]>,
    sweep: (command) => counted(store.sweep(command)),
    /** Those of one kind share a transaction. Two kinds at once would run in an order that no seed decides. */
    async runGroup(submissions) {
      const answers = new Map<Submission, unknown>()
      for (const kind of new Set(submissions.map(({ name }) => name)))
        await Promise.all(
          submissions
            .filter(({ name }) => name === kind)
            .map(async (one) => answers.set(one, await perform(one).catch((error: unknown) => error))),
        )
      return submissions.map((one) => answers.get(one))
    },
    changes: () => String(commands),
    rows: (sql) => rawly.rows(sql),
    verify: () => store.verifyLedger(),
    async restart() {
      await store.close()
      store = await open()
      commands += 1
    },
    async close() {
      await Promise.all([store.close(), rawly.close()])
      await dropDatabase(url)
    },
  }
  let store = await open()
  return world
}
