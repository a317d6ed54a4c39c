// Providers that say their key themselves, in every answer and every spelling: it is in no record, log, file, webhook or output of
// a command. The log of these tests does not redact anything by itself.
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { EngineSpec } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import { runMain } from '../cli/run-main.ts'
import { readDatabase, storeSettings } from '../test-store.ts'
import { startServer } from './remote-fixture.ts'
import { type FakeAnswer, type Fault, serveFake } from './remote/fakes/fake.ts'
import { type KindCase, kindCases, secrets } from './remote/kinds.ts'

const key = secrets.KEY
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const spellings = [
  key,
  encodeURIComponent(key),
  base64(key),
  Buffer.from(key).toString('base64url'),
  base64(`Bearer ${key}`),
  base64(`Key ${key}`),
  base64(`a:${key}`),
]
const echo = `your key ${spellings.join(' ')} https://x.test/?key=${key}`
const error = { message: echo, type: 'x', code: key }

/** An answer that says that the run failed, where the kind has one. */
const failures: Readonly<Record<string, FakeAnswer>> = {
  replicate: { status: 200, json: { status: 'failed', error: echo } },
  fal: { status: 200, json: { status: 'COMPLETED', error: echo } },
  'openai video': { status: 200, json: { status: 'failed', error } },
  comfyui: { status: 200, json: { status: 'failed', execution_error: { node_type: key, exception_message: echo } } },
  cog: { status: 200, json: { status: 'failed', error: echo } },
  'sd-server': { status: 200, json: { status: 'failed', error } },
  'ai-sdk google video': { status: 200, json: { name: 'operations/1', done: true, error: { code: 3, message: echo } } },
  'ai-sdk xai video': { status: 200, json: { status: 'failed', error } },
  'ai-sdk black-forest-labs image': { status: 200, json: { status: 'Error', result: null, details: { error: echo } } },
}

const said = (status: number): FakeAnswer => ({
  status,
  headers: { 'x-echo': key, 'content-type': 'application/json' },
  json: { error, detail: echo, message: echo, title: echo },
})

const troubles: Readonly<Record<string, (one: KindCase, request: string) => Fault | null>> = {
  refuses: (one, request) => (one.submission.test(request) ? said(400) : null),
  breaks: (one, request) => (one.submission.test(request) ? said(500) : null),
  asks: (one, request) => (one.question?.test(request) ? said(500) : null),
  fails: (one, request) => ((one.question ?? one.submission).test(request) ? (failures[one.title] ?? said(422)) : null),
  // Not ready.
  unready: () => said(401),
}

/** The spellings that a text has; the base64 of more than the key is looked for by its middle. */
function findKey(text: string): string[] {
  return spellings.filter((spelling) => text.includes(spelling.slice(12, -4)))
}

function readAll(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'))
    .join('\n')
}

async function receiveWebhooks() {
  let text = ''
  const server = createServer((request, response) => {
    request.on('data', (piece: Buffer) => (text += piece.toString()))
    request.on('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    text: () => text,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

test('a key that its provider says in every answer is nowhere', async () => {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(await receiveWebhooks())
  const specs: Record<string, EngineSpec> = {}
  const jobs: { readonly one: KindCase; readonly name: string }[] = []
  const armed = new Set<string>()
  for (const one of kindCases)
    for (const [trouble, fault] of Object.entries(troubles)) {
      if (trouble === 'asks' && !one.question) continue
      const name = `${one.title} ${trouble}`.replaceAll(/[^a-z]+/g, '-')
      const served = stack.use(await serveFake(one.open(Date.now).fake))
      // What is not ready from the beginning would not run.
      served.faults = ({ method, path }) =>
        trouble === 'unready' || armed.has(name) ? fault(one, `${method} ${path}`) : null
      specs[name] = { ...one.toSpec(served.origin), timeout_seconds: 4 }
      if (trouble !== 'unready') jobs.push({ one, name })
    }
  const settings = { MEDIAGEN_WEBHOOK_ALLOW_PRIVATE: 'true', MEDIAGEN_LOG_LEVEL: 'debug' }
  const { app, lines } = stack.use(await startServer(specs, { price: { credits: 1 } }, settings))
  await app.send('/v1/webhooks', { body: { url: receiver.url } })
  for (const { name } of jobs) armed.add(name)
  const answers = await Promise.all(
    jobs.map(async ({ one, name }) => {
      const { body } = await app.generate(`test/${name}`, one.input)
      expect.soft([name, body.status]).toEqual([name, expect.stringMatching(/^(failed|needs_review)$/)])
      return body
    }),
  )
  await expect.poll(() => receiver.text().split('job.failed').length, { timeout: 30_000 }).toBeGreaterThan(20)
  const details = await Promise.all(Object.keys(specs).map((name) => app.send(`/v1/models/test/${name}`)))
  const commands: string[] = []
  const { dataDir, catalog } = app.config
  const place = { ...(await storeSettings(dataDir)), MEDIAGEN_DATA_DIR: dataDir, MEDIAGEN_CATALOG: catalog.join(':') }
  const env = { ...secrets, ...place }
  const run = async (...args: string[]): Promise<void> => {
    const { stdout, stderr } = await runMain({ args, cwd: app.folder, env })
    commands.push(stdout + stderr)
  }
  for (const { job_id: id } of answers.slice(0, 8)) await run('admin', 'jobs', 'show', id, '--json')
  for (const command of ['jobs list', 'models list', 'providers check', 'audit list', 'ledger verify'])
    await run('admin', ...command.split(' '))
  const places = {
    records: JSON.stringify(answers),
    lists: JSON.stringify([(await app.send('/v1/jobs?limit=500')).body, (await app.send('/v1/wallet/entries')).body]),
    catalog: JSON.stringify(details.map(({ body }) => body)),
    metrics: String((await app.send('/metrics')).body),
    commands: commands.join('\n'),
    webhooks: receiver.text(),
    log: lines(),
    files: readAll(app.folder) + (await readDatabase(dataDir)),
  }
  for (const [place, text] of Object.entries(places)) {
    expect([place, text.length]).toEqual([place, expect.toSatisfy((length: number) => length > 100)])
    expect.soft([place, findKey(text)]).toEqual([place, []])
  }
  // The words of providers are there, without it.
  for (const place of ['records', 'log', 'files', 'commands'] as const) expect.soft(places[place]).toContain('[KEY]')
})
