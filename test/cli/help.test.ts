// Every command has a help that can be printed.
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { createProgram } from '../../src/main.ts'
import { openCommandLine } from './command-line.ts'
import { listCommands } from './commands.ts'

const names = listCommands(await createProgram()).map(({ name }) => name)

test.for(names)('mediagen %s --help', async (name) => {
  await using line = openCommandLine()
  const path = name.split(' ').filter(Boolean)
  const { status, stdout, stderr } = await line.run([...path, '--help'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain(`Usage: mediagen ${name}`.trimEnd())
})

test('mediagen --version', async () => {
  await using line = openCommandLine()
  const { status, stdout } = await line.run(['--version'])
  expect({ status, stdout }).toEqual({ status: 0, stdout: `${manifest.version}\n` })
})

test('a default is shown', async () => {
  await using line = openCommandLine()
  expect((await line.run(['admin', 'accounts', 'create', '--help'])).stdout).toMatch(/initial credits \(default: 0\)/)
})
