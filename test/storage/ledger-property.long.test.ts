// Many random commands against a model of the ledger, others in each run.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { checkRandomCommands } from './ledger-property.ts'

test(`random commands, seed ${seed}`, () => checkRandomCommands(200))
