// mediagen generate --count and --vary, against a real server: one set, priced whole, and each of it for itself.
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { openCommandLine, watchEnd } from './command-line.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-set-'))
const model = 'test/card/text-to-image'
// Dusk is too dark for it; with a wait it goes on until it is stopped.
const program = `case "$(cat)" in
*dusk*) echo '{"error":{"message":"it is too dark"}}'; exit 3 ;;
*wait*) exec sleep 600 ;;
esac
cp ${join(import.meta.dirname, '../models/picture.png')} out.png`
const card = {
  name: 'Card',
  description: 'A card.',
  category: 'text-to-image',
  modality: 'image',
  owned_by: 'test',
  created: '2026-11-01',
  price: { credits: 'theme == "dawn" ? 2 : 1' },
  engine: { kind: 'command', run: ['sh', '-c', program], concurrency: 4 },
}
const properties = {
  title: { type: 'string', minLength: 1 },
  theme: { enum: ['noon', 'dawn', 'dusk'], default: 'noon' },
  image: { type: 'string', format: 'media', contentMediaType: 'image/*' },
  seed: { type: 'integer', minimum: 0, maximum: 99 },
}
const input = { type: 'object', additionalProperties: false, required: ['title'], properties }
const { seed: _, ...unseeded } = properties
writeFileSync(
  join(folder, 'card.yaml'),
  JSON.stringify({
    models: [
      { ...card, id: model, input },
      { ...card, id: 'test/plain/text-to-image', input: { ...input, properties: unseeded } },
    ],
  }),
)
const app = await startTestApp({ MEDIAGEN_CATALOG: join(folder, 'card.yaml') })
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await app[Symbol.asyncDispose]()
})

async function openUser(credits = 100) {
  const { key } = await app.createAccount(credits)
  const line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: key })
  const jobs = async (): Promise<any[]> => (await app.send('/v1/jobs', { key })).body.data.toReversed()
  const make = (...args: string[]) => line.run(['generate', model, '--set', 'title=Fair', ...args])
  return { key, line, jobs, make, [Symbol.asyncDispose]: () => line[Symbol.asyncDispose]() }
}

test('each combination is priced with the others, started once, and named with its file', async () => {
  await using user = await openUser()
  const { status, stdout, stderr } = await user.make('--vary', 'theme=noon,dawn', '--count', '2', '-o', 'fair.png')
  expect({ status, said: stderr.split('\n')[0] }).toEqual({ status: 0, said: '4 generations, 6 credits' })
  const [first = 0] = (await user.jobs()).map((job) => job.input.seed).toSorted((a, b) => a - b)
  const lines = stdout.trim().split('\n').slice(1)
  expect(lines.map((line) => line.split(/ {2,}/).slice(0, 4))).toEqual([
    [`theme=noon seed=${first}`, 'succeeded', 'fair-1.png', '1'],
    [`theme=noon seed=${first + 1}`, 'succeeded', 'fair-2.png', '1'],
    [`theme=dawn seed=${first}`, 'succeeded', 'fair-3.png', '2'],
    [`theme=dawn seed=${first + 1}`, 'succeeded', 'fair-4.png', '2'],
  ])
  expect([1, 2, 3, 4].map((number) => existsSync(join(user.line.folder, `fair-${number}.png`)))).not.toContain(false)
  // A set of the console's library, and seeds that the schema takes.
  expect(new Set((await user.jobs()).map((job) => job.labels.variations)).size).toBe(1)
  expect(first).toBeLessThan(99)
})

test('one that fails does not hide the others, and the command fails', async () => {
  await using user = await openUser()
  const { status, stdout, stderr } = await user.make('--vary', 'theme=noon,dusk,dawn', '--json')
  expect(JSON.parse(stdout)).toMatchObject([
    { variation: { theme: 'noon' }, status: 'succeeded', files: [expect.stringMatching(/^card-/)], credits: 1 },
    { variation: { theme: 'dusk' }, status: 'failed', files: [], credits: 0, error: 'it is too dark' },
    { variation: { theme: 'dawn' }, status: 'succeeded', files: [expect.stringMatching(/^card-/)], credits: 2 },
  ])
  expect(status).toBe(1)
  expect(stderr).toMatch(/^2\/3 it is too dark \(job_\w+\)\nmediagen: 1 of 3 have no output\.\n$/m)
})

test('a set whose start stops half-way is resumed by its key and paid once, with the same seeds', async () => {
  await using user = await openUser(3)
  const args = ['--count', '3', '--idempotency-key', 'mine']
  // One of the three was started, with another input than it will have.
  const other = ['generate', model, '--set', 'title=Other', '--idempotency-key', 'mine-2']
  expect((await user.line.run(other)).status).toBe(0)
  const broken = await user.make(...args)
  expect(broken.status).toBe(1)
  expect(broken.stdout).toMatch(/not_started .*"mine-2" already started/)
  expect((await user.jobs()).map((job) => job.status)).toEqual(['succeeded', 'succeeded', 'succeeded'])
  const again = await user.make(...args)
  expect(again.stderr).toMatch(/^3 generations \(3 started before\), 0 credits\n/)
  expect(again.stdout).toBe(broken.stdout)
  expect(await user.jobs()).toHaveLength(3)
  expect((await app.send('/v1/wallet', { key: user.key })).body).toEqual({ available: 0, held: 0 })
})

test('nothing starts above --max-credits or the balance, or when one of them is refused', async () => {
  await using user = await openUser(3)
  for (const [args, words] of [
    [['--count', '3', '--max-credits', '2'], 'These 3 cost 3 credits, which is more than the limit of 2. Nothing was'],
    [['--count', '4'], 'These cost 4 credits, and 3 credits are available. Nothing was started.'],
    [['--vary', 'theme=noon,night'], '--vary theme="night" must be one of "noon", "dawn", "dusk"'],
    [['--count', '2', '-o', '-'], 'Standard output takes only one output'],
    [['--count', '2', '-o', 'none/fox.png'], 'The output cannot be written to none: no such file or directory.'],
    [['--vary', 'image=@none.png,@nothing.png'], 'none.png cannot be read: no such file or directory.'],
    [['--count', '13', '--vary', 'theme=noon,dawn,dusk'], 'That makes 39; at most 36 go together.'],
    [['--count', '37'], 'It must be a whole number, 1 to 36.'],
    [['--vary', 'theme'], '--vary theme must have the form name=value,value.'],
    [['--vary', 'theme=noon,'], '--vary theme=noon, has an empty value.'],
    [['--vary', 'theme=noon,noon'], '--vary theme=noon,noon has a value twice.'],
    [['--vary', 'theme=noon', '--vary', 'theme=dawn'], '--vary theme=dawn is the second one of theme.'],
    [['--count', '2', '--vary', 'seed=1,2'], 'Either --count or --vary seed=… chooses the seeds.'],
  ] as const) {
    const { status, stderr } = await user.make(...args)
    expect([status, stderr]).toEqual([1, expect.stringContaining(words)])
  }
  const plain = await user.line.run(['generate', 'test/plain/text-to-image', '--set', 'title=x', '--count', '2'])
  expect(plain.stderr).toContain('test/plain/text-to-image has no seed; --vary varies another field')
  expect(await user.jobs()).toEqual([])
})

test('texts with commas are a list of JSON, and quote prices the set', async () => {
  await using user = await openUser()
  const vary = ['--vary', 'title=["Fair, and warm","17"]', '--set', 'seed=4', '--count', '2']
  expect(await user.line.json(['quote', model, ...vary])).toEqual({ generations: 4, credits: 4 })
  await user.line.run(['generate', model, ...vary, '--detach'])
  const inputs = (await user.jobs()).map((job) => `${job.input.title} ${job.input.seed}`)
  expect(inputs.toSorted()).toEqual(['17 4', '17 5', 'Fair, and warm 4', 'Fair, and warm 5'])
})

test('Ctrl-C cancels all that have started, and nothing is charged', async () => {
  await using user = await openUser()
  const args = ['generate', model, '--vary', 'title=wait 1,wait 2', '--json']
  const child = await user.line.start(args)
  const ended = watchEnd(child)
  for await (const said of createInterface({ input: child.stderr as Readable })) if (said.endsWith('running')) break
  child.kill('SIGINT')
  const { status, stdout } = await ended
  expect(status).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject([
    { status: 'canceled', credits: 0 },
    { status: 'canceled', credits: 0 },
  ])
  expect((await app.send('/v1/wallet', { key: user.key })).body).toEqual({ available: 100, held: 0 })
})

test('a second Ctrl-C before the starts are answered says that they may have arrived, and how to go on', async () => {
  await using user = await openUser()
  const started: string[] = []
  // What the server did, it does not say.
  const between = createServer((request, response) => void pass(request, response))
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const headers = { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' }
    const key = request.headers['idempotency-key']
    const answer = await fetch(app.url + request.url, {
      method: request.method ?? 'GET',
      headers: { ...headers, ...(typeof key === 'string' && { 'idempotency-key': key }) },
      ...(body.length > 0 && { body }),
    })
    if (request.url?.startsWith('/v1/generate')) started.push(String(key))
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  }
  between.listen(0, '127.0.0.1')
  await once(between, 'listening')
  const url = `http://127.0.0.1:${(between.address() as AddressInfo).port}`
  const child = await user.line.start(['generate', model, '--vary', 'title=wait 1,wait 2', '--json'], {
    MEDIAGEN_URL: url,
  })
  const ended = watchEnd(child)
  await expect.poll(() => started.length).toBe(2)
  // Two within a second are one wish.
  const pressing = setInterval(() => child.kill('SIGINT'), 300)
  const { status, stdout, stderr } = await ended
  clearInterval(pressing)
  between.closeAllConnections()
  between.close()
  expect(status).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject([{ status: 'unknown' }, { status: 'unknown' }])
  const [, key] = /--idempotency-key (\S+) resumes/.exec(stderr) ?? []
  expect(started.toSorted()).toEqual([`${key}-1`, `${key}-2`])
})
