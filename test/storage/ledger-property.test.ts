// Random commands against a model of the ledger. More of them: ledger-property.long.test.ts.
import { test } from 'vitest'
import { checkRandomCommands, checkUnorderedCommands } from './ledger-property.ts'

test('random commands', () => checkRandomCommands(10))
test('random commands from two processes', () => checkUnorderedCommands(5))
