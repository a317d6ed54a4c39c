// Many random commands against a model of the ledger, others in each run. MEDIAGEN_TEST_HISTORIES=<count> makes as many.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { openThreadedStore } from '../test-store.ts'
import { checkRandomCommands, checkUnorderedCommands } from './ledger-property.ts'

const count = Number(process.env['MEDIAGEN_TEST_HISTORIES'] ?? 200)

test(`random commands, seed ${seed}`, () => checkRandomCommands(count))
test(`random commands from two processes, seed ${seed}`, () =>
  checkUnorderedCommands(Math.ceil(count / 4), openThreadedStore))
