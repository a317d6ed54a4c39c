// The engines that entries of tests may name.
import { createBuiltinEngine } from '@mediagen/builtin/engine.ts'
import { createCommandEngine } from '@mediagen/backends/command.ts'
import { createNullEngine } from '@mediagen/backends/null.ts'
import { createTestRemotes } from '../../packages/backends/test/remote/remote-run.ts'

export const kinds = [
  createBuiltinEngine(),
  createCommandEngine({ environment: {} }),
  createNullEngine(),
  ...createTestRemotes(),
]
