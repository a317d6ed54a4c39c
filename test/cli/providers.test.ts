// `providers check`: what it says of servers that work, refuse the key, answer something else, hang or are not there, and of
// the models that wait for them.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type Faults, html, serveFake } from '../engines/remote/fakes/fake.ts'
import { type KindCase, kindCases, secrets } from '../engines/remote/kinds.ts'
import { openCommandLine } from './command-line.ts'
import { cases, findCase, type MoreModels, writeModels } from './provider-models.ts'
import type { Ended } from './run-main.ts'

const missing = 'a key that it needs is missing: the server has no environment variable KEY'
const wrongKey = 'sk-wrong-9876543210'
const names = cases.map(({ kind }) => kind)

/** Runs the command on a catalog with one model for each of these providers. */
async function check(
  origins: Readonly<Record<string, string>>,
  key: string | null,
  args: readonly string[] = [],
  more: MoreModels = {},
): Promise<Ended & { readonly reports: any[] }> {
  await using line = openCommandLine(key === null ? {} : { KEY: key })
  const file = writeModels(line.folder, origins, more)
  const ended = await line.run(['admin', 'providers', 'check', ...args], { MEDIAGEN_CATALOG: file })
  expect(ended.stdout + ended.stderr).not.toContain(key ?? secrets.KEY)
  return { ...ended, reports: args.includes('--json') ? JSON.parse(ended.stdout) : [] }
}

/** The same with a fake of each of these kinds, which has the faults. */
async function checkFakes(
  kinds: readonly string[],
  faults: Faults = () => null,
  key: string | null = secrets.KEY,
  args: readonly string[] = ['--json'],
): Promise<Ended & { readonly reports: any[]; readonly requests: readonly string[] }> {
  await using stack = new AsyncDisposableStack()
  const origins: Record<string, string> = {}
  const requests: string[] = []
  for (const kind of kinds) {
    const served = stack.use(await serveFake(findCase(kind).open(Date.now).fake, faults))
    origins[kind] = served.origin
    stack.defer(() => requests.push(...served.requests()) as unknown as void)
  }
  const ended = await check(origins, key, args)
  await stack.disposeAsync()
  return { ...ended, requests }
}

test('a working provider of every kind is reported as such, nothing is paid, and the exit status is 0', async () => {
  const { status, reports, requests } = await checkFakes(names)
  expect(status).toBe(0)
  const proven = new Set(['replicate', 'openai', 'ai-sdk'])
  expect(reports).toEqual(
    names.map((name) => ({
      name,
      kind: name,
      answers: true,
      key: proven.has(name) ? 'works' : 'unknown',
      reason: null,
      models: [{ id: `test/${name}`, waits_for: null }],
    })),
  )
  expect(requests.filter((request) => !request.startsWith('GET '))).toEqual([])
})

test('a wrong key is refused by those who look at it, and their models wait', async () => {
  const kinds = ['replicate', 'fal', 'openai']
  const { status, reports } = await checkFakes(kinds, () => null, wrongKey)
  expect(status).toBe(1)
  for (const report of reports)
    expect(report).toMatchObject({
      answers: true,
      key: 'refused',
      reason: expect.stringContaining('answered 401'),
      models: [{ waits_for: expect.stringContaining('answered 401') }],
    })
})

test.each([
  ['google image', wrongKey, { key: 'refused', reason: expect.stringContaining('API key not valid') }],
  ['xai image', wrongKey, { key: 'refused', reason: expect.stringContaining('Incorrect API key') }],
  ['black-forest-labs image', wrongKey, { key: 'refused', reason: expect.stringContaining('Not authenticated') }],
  ['elevenlabs speech', wrongKey, { key: 'refused', reason: expect.stringContaining('Invalid API key') }],
  ['elevenlabs speech', secrets.KEY, { key: 'works', reason: null }],
])('each package of the AI SDK asks its own question: %s', async (title, key, expected) => {
  const one = kindCases.find((other) => other.title === `ai-sdk ${title}`) as KindCase
  const message = 'The API key you used is missing the permission user_read to execute this operation.'
  const scoped = { status: 401, json: { detail: { status: 'missing_permissions', message } } }
  const mayOnlySpeak = title === 'elevenlabs speech' && key === secrets.KEY
  await using served = await serveFake(one.open(Date.now).fake, () => (mayOnlySpeak ? scoped : null))
  const { reports } = await check({}, key, ['--json'], { specs: [one.toSpec(served.origin)] })
  const waits = mayOnlySpeak ? null : expected.reason
  expect(reports).toMatchObject([{ answers: true, ...expected, models: [{ waits_for: waits }] }])
})

test('a missing key is named, and the provider is asked without it', async () => {
  const { status, reports } = await checkFakes(['replicate', 'comfyui'], () => null, null)
  expect(status).toBe(1)
  for (const report of reports)
    expect(report).toMatchObject({
      answers: true,
      key: 'missing',
      reason: missing,
      models: [{ waits_for: missing }],
    })
})

test('a web page is not an answer of any kind of provider', async () => {
  const { status, reports } = await checkFakes(names, () => html)
  expect(status).toBe(1)
  for (const { name, ...report } of reports)
    expect(report).toMatchObject({
      answers: false,
      reason: `${name} answered 200 with a web page, which no server of its kind does`,
      models: [{ waits_for: expect.any(String) }],
    })
})

test('a missing server, and one that is out of order', async () => {
  const gone = await serveFake(findCase('cog').open(Date.now).fake)
  await gone[Symbol.asyncDispose]()
  const { status, reports } = await check({ cog: gone.origin }, secrets.KEY, ['--json'])
  expect(status).toBe(1)
  expect(reports).toMatchObject([
    { answers: false, key: 'unknown', reason: expect.stringContaining('cog could not be asked') },
  ])
  const keyless = await check({ replicate: gone.origin }, null, ['--json'])
  expect(keyless.reports).toMatchObject([
    { answers: false, key: 'missing', reason: expect.stringMatching(new RegExp(`^${missing}; replicate could not `)) },
  ])
  const ill = await checkFakes(['replicate'], () => ({ status: 502, body: 'bad gateway' }))
  // Its jobs wait for it, so the model is ready all the same; here that is said.
  expect(ill.reports).toMatchObject([
    { answers: false, reason: 'replicate answered 502', models: [{ waits_for: 'replicate answered 502' }] },
  ])
})

test('servers that accept and never answer are given up in time', async () => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const origins = Object.fromEntries(names.map((name) => [name, origin]))
  const { status, reports } = await check(origins, secrets.KEY, ['--json', '--timeout', '0.2'])
  expect(status).toBe(1)
  for (const { name, ...report } of reports)
    expect(report).toMatchObject({
      answers: false,
      reason: `${name} could not be asked: there was no answer within 0.2 s`,
      models: [{ waits_for: expect.any(String) }],
    })
  for (const socket of sockets) socket.destroy()
  await new Promise((done) => server.close(done))
})

test('a model with a fallback that works waits for nothing', async () => {
  await using well = await serveFake(findCase('cog').open(Date.now).fake)
  await using ill = await serveFake(findCase('replicate').open(Date.now).fake, () => html)
  const { reports } = await check({ replicate: ill.origin }, secrets.KEY, ['--json'], {
    fallback: { kind: 'cog', provider: 'spare' },
    providers: { spare: { kind: 'cog', base_url: well.origin } },
  })
  expect(reports).toMatchObject([
    { name: 'replicate', answers: false, models: [{ id: 'test/replicate', waits_for: null }] },
    { name: 'spare', answers: true, key: 'none', models: [{ id: 'test/replicate', waits_for: null }] },
  ])
})

test('a workflow whose nodes the server lacks waits for them', async () => {
  const { status, reports } = await checkFakes(['comfyui'], ({ path }) =>
    path.endsWith('/Text') ? { status: 200, json: {} } : null,
  )
  expect(status).toBe(1)
  expect(reports).toMatchObject([
    { answers: true, models: [{ waits_for: 'comfyui lacks nodes of the workflow workflow.json: Text' }] },
  ])
})

test('people get a table, and what waits below it', async () => {
  const { stdout, status } = await checkFakes(['replicate', 'comfyui'], () => null, null, [])
  expect(status).toBe(1)
  expect(stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '))).toEqual([
    'provider | kind | answers | key | models_ready | problem',
    `replicate | replicate | yes | missing | 0 of 1 | ${missing}`,
    `comfyui | comfyui | yes | missing | 0 of 1 | ${missing}`,
    '',
    'model | provider | waits_for',
    `test/replicate | replicate | ${missing}`,
    `test/comfyui | comfyui | ${missing}`,
    '',
  ])
})

test('a catalog without providers is well, and a silly time-out is refused', async () => {
  await using line = openCommandLine()
  expect(await line.run(['admin', 'providers', 'check'])).toMatchObject({ status: 0, stdout: '(none)\n' })
  expect(await line.run(['admin', 'providers', 'check', '--timeout', '0'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('more than 0 and at most 60'),
  })
})
