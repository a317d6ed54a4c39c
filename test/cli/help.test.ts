// Every command has a help that can be printed.
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { exampleOf } from '../../src/cli/admin/common/examples.ts'
import { createProgram } from '../../src/main.ts'
import { openCommandLine } from './command-line.ts'
import { listCommands } from './commands.ts'

const commands = listCommands(await createProgram())
const names = commands.map(({ name }) => name)

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

test('each command of operators has an example that it takes: its name, options that it has, and all that it needs', () => {
  const leaves = commands.filter(({ name, command }) => name.startsWith('admin ') && command.commands.length === 0)
  expect(leaves.length).toBeGreaterThan(20)
  for (const { name, command } of leaves) {
    const example = exampleOf(command)
    expect(example, name).toMatch(new RegExp(`^mediagen ${name}(?: |$)`))
    const given = (example ?? '').match(/ --[a-z-]+/g)?.map((option) => option.trim()) ?? []
    expect(command.options.map(({ long }) => long)).toEqual(expect.arrayContaining(given))
    expect(given).toEqual(
      expect.arrayContaining(command.options.flatMap(({ mandatory, long }) => (mandatory ? [long] : []))),
    )
  }
})

test('the old names of operators’ commands work on this machine for one version, with a word about the new ones, and no help shows them', async () => {
  await using line = openCommandLine()
  await line.run(['migrate'])
  const made = await line.run(['accounts', 'create', '--name', 'Ada', '--json'])
  expect([made.status, JSON.parse(made.stdout).name]).toEqual([0, 'Ada'])
  expect(made.stderr).toMatch(
    /^“mediagen accounts create” is now “mediagen admin accounts create”; .*\non this machine /,
  )
  for (const args of [
    ['jobs', 'list'],
    ['webhooks', 'list'],
    ['models', 'list'],
    ['audit', 'list'],
  ]) {
    const { status, stderr } = await line.run(args)
    expect([status, stderr]).toEqual([0, expect.stringContaining(`is now “mediagen admin ${args.join(' ')}”`)])
  }
  for (const args of [[], ['jobs'], ['models'], ['webhooks']])
    expect((await line.run([...args, '--help'])).stdout).not.toMatch(/^ {2}(?:accounts|list|redeliver|import)\b/m)
})
