// `providers try`: real runs at each provider, of which nothing stays in the operator's installation, and which cost no more than
// was allowed.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Faults, serveFake } from '../engines/remote/fakes/fake.ts'
import { secrets } from '../engines/remote/kinds.ts'
import { openCommandLine } from './command-line.ts'
import { cases, findCase, writeModels } from './provider-models.ts'

const names = cases.map(({ kind }) => kind)

/** Runs the command on fakes of these kinds. */
async function tryFakes(kinds: readonly string[], args: readonly string[], faults: Faults = () => null) {
  await using stack = new AsyncDisposableStack()
  const line = stack.use(openCommandLine({ KEY: secrets.KEY }))
  const origins: Record<string, string> = {}
  const submissions: (() => number)[] = []
  for (const kind of kinds) {
    const one = findCase(kind)
    const served = stack.use(await serveFake(one.open(Date.now).fake, faults))
    origins[kind] = served.origin
    submissions.push(() => served.requests().filter((request) => one.submission.test(request)).length)
  }
  const settings = { MEDIAGEN_CATALOG: writeModels(line.folder, origins), TMPDIR: line.folder }
  const ended = await line.run(['admin', 'providers', 'try', ...args], settings)
  expect(ended.stdout + ended.stderr).not.toContain(secrets.KEY)
  // Neither the operator's installation was touched, nor is that of the command left.
  expect(existsSync(join(line.folder, 'data'))).toBe(false)
  expect(readdirSync(line.folder).filter((name) => name.startsWith('mediagen-try'))).toEqual([])
  return { ...ended, submitted: submissions.reduce((sum, count) => sum + count(), 0) }
}

test('a model of every kind runs once at its provider, and what it made is shown', async () => {
  const { status, stdout, submitted } = await tryFakes(names, ['--max-credits', '100', '-p', 'x', '--json'])
  const tried = JSON.parse(stdout)
  expect(tried.map(({ provider, result, credits }: any) => [provider, result, credits])).toEqual(
    names.map((name) => [name, 'succeeded', 1]),
  )
  for (const { detail } of tried) expect(detail).toMatch(/^image\/\w+, \d+ x \d+, \d+ bytes/)
  expect(submitted).toBe(names.length)
  expect(status).toBe(0)
})

test('all runs together cost no more than was allowed, and the lines can be pasted', async () => {
  const { status, stdout, submitted } = await tryFakes(['replicate', 'fal'], ['--max-credits', '1', '-p', 'x'])
  const [head, rule, ...rows] = stdout.trimEnd().split('\n')
  expect(head).toMatch(/^\| Day +\| Version/)
  expect(rule).toMatch(/^\| ---/)
  expect(rows).toEqual([
    expect.stringMatching(
      /^\| \d{4}-\d\d-\d\d \| \S+ \| replicate \| test\/replicate \| succeeded \| 1 credit \| [\d.]+ s \|/,
    ),
    expect.stringMatching(
      /\| fal \| test\/fal \| skipped \| 0 credits \| +\| costs 1 credit, and 0 of --max-credits are left/,
    ),
  ])
  expect(submitted).toBe(1)
  expect(status).toBe(1)
})

test('what a provider refuses is said, charges nothing, and counts as spent', async () => {
  const { status, stdout } = await tryFakes(['fal', 'replicate'], ['--max-credits', '1', '--json'], ({ method }) =>
    method === 'POST' ? { status: 422, json: { detail: 'no such picture' } } : null,
  )
  expect(JSON.parse(stdout)).toMatchObject([
    { provider: 'fal', result: 'failed', credits: 0, detail: expect.stringContaining('no such picture') },
    { provider: 'replicate', result: 'skipped' },
  ])
  expect(status).toBe(1)
})

test('what another provider made in its place is no success of a provider', async () => {
  await using line = openCommandLine({ KEY: secrets.KEY })
  await using spare = await serveFake(findCase('cog').open(Date.now).fake)
  const more = {
    fallback: { kind: 'cog', provider: 'spare' },
    providers: { spare: { kind: 'cog', base_url: spare.origin } },
  }
  const settings = { MEDIAGEN_CATALOG: writeModels(line.folder, { openai: 'http://127.0.0.1:1' }, more) }
  const { status, stdout } = await line.run(
    ['admin', 'providers', 'try', '--max-credits', '2', '-p', 'x', '--json'],
    settings,
  )
  expect(JSON.parse(stdout)).toMatchObject([
    { provider: 'openai', result: 'fell_back', credits: 1, detail: expect.stringMatching(/^made by spare: image/) },
    { provider: 'spare', result: 'succeeded', credits: 1, detail: expect.stringMatching(/^image/) },
  ])
  expect(status).toBe(1)
})

test('a text that a model needs is asked for as a text, a file as a file', async () => {
  await using line = openCommandLine({ KEY: secrets.KEY })
  await using served = await serveFake(findCase('fal').open(Date.now).fake)
  const path = writeModels(line.folder, { fal: served.origin })
  const file = JSON.parse(readFileSync(path, 'utf8'))
  const [model] = file.models
  const fields = { prompt: { type: 'string' }, voice: { type: 'string' }, image: { type: 'string', format: 'media' } }
  file.models = Object.keys(fields).map((name) => ({
    ...model,
    id: `test/${name}`,
    input: { type: 'object', required: [name], properties: fields },
  }))
  writeFileSync(path, JSON.stringify(file))
  const args = ['admin', 'providers', 'try', '--max-credits', '1', '--json']
  const { stdout } = await line.run(args, { MEDIAGEN_CATALOG: path })
  expect(JSON.parse(stdout).map(({ detail }: { detail: string }) => detail)).toEqual([
    'needs prompt: add -p …',
    'needs voice: name the model, with --set voice=…',
    'needs image: name the model, with --set image=@file',
  ])
})

test.each([
  [['--max-credits', '0'], /whole number of credits/],
  [[], /--max-credits/],
  [['nobody/nothing', '--max-credits', '1'], /No provider of the catalog has the model nobody\/nothing/],
])('bad arguments are named, and nothing runs: %j', async (args, words) => {
  const { status, stderr, submitted } = await tryFakes(['fal'], args)
  expect(stderr).toMatch(words)
  expect(status).not.toBe(0)
  expect(submitted).toBe(0)
})
