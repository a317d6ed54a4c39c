// The world of the store that tests run on.
import { isPostgres } from '../test-store.ts'
import { createPostgresWorld } from './postgres-world.ts'
import { createSqliteWorld } from './sqlite-world.ts'
import type { World } from './world.ts'

/** Creates an empty store. @param random for ids, where those are the test's */
export async function createWorld(nowMs: number, random: (bytes: number) => Uint8Array): Promise<World> {
  return isPostgres ? createPostgresWorld(nowMs) : createSqliteWorld(nowMs, random)
}
