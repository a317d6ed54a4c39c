// The engines that entries of tests may name.
import { createBuiltinEngine } from '@mediagen/builtin/engine.ts'
import { createCommandEngine } from '../../src/engines/command.ts'
import { createNullEngine } from '../../src/engines/null.ts'
import { createTestRemotes } from '../engines/remote/remote-run.ts'

export const kinds = [
  createBuiltinEngine(),
  createCommandEngine({ environment: {} }),
  createNullEngine(),
  ...createTestRemotes(),
]
