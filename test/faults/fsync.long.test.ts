// The disk answers fsync with an I/O error, under the real server and its real load: what was acknowledged stays, what was refused
// is there once when it is sent again, and the server says what is wrong and goes on when the disk does.
import { execFileSync } from 'node:child_process'
import { copyFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, test } from 'vitest'
import { type CommandLine, createTestAccount, openClient, openCommandLine } from '../cli/command-line.ts'
import { makeFolder } from './fixture.ts'

const folder = makeFolder()
afterAll(() => folder[Symbol.dispose]())

const model = 'test/instant/text-to-image'
const price = 3
const clients = 4
const library = join(folder.path, 'failing-sync.so')
const control = join(folder.path, 'fault')
const unbuilt = whyNotBuilt()

type Answer = Awaited<ReturnType<ReturnType<typeof openClient>['send']>>

/** What a client intended and was told. */
interface Intent {
  readonly key: string
  readonly body: { model: string; input: object; quote_id: string }
  readonly answer: Answer
}

/** Why there is no library that makes fsync fail, as the end of a test's name; empty when there is one. */
function whyNotBuilt(): string {
  if (process.platform !== 'linux') return ' (SKIPPED: fsync is made to fail by LD_PRELOAD, which Linux has)'
  try {
    const source = join(import.meta.dirname, 'failing-sync.c')
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'pipe' })
    return ''
  } catch (error) {
    return ` (SKIPPED: no C compiler to make fsync fail with: ${(error as Error).message.split('\n')[0]})`
  }
}

/** From now on this share of the fsyncs of files whose path holds `text` fails. */
const breakDisk = (text: string, percent = 100): void => writeFileSync(control, `${text} ${percent}`)
const mendDisk = (): void => rmSync(control, { force: true })

async function serve(line: CommandLine) {
  return await line.serve({ LD_PRELOAD: library, MEDIAGEN_TEST_FAULT: control })
}

async function open() {
  mendDisk()
  const line = openCommandLine({ MEDIAGEN_RATE_LIMIT: '0', MEDIAGEN_MAX_QUEUED_JOBS: '100000' })
  const { accountId, key } = await createTestAccount(line)
  await line.json(['credits', 'grant', '--account', accountId, '--credits', '999000'])
  return { line, key }
}

/** Starts generations from several clients at once. */
async function start(url: string, key: string, starts: number, padding = 0): Promise<Intent[]> {
  const client = openClient(url, key)
  const intents: Intent[] = []
  let begun = 0
  async function work(): Promise<void> {
    while (begun++ < starts) {
      const input = { prompt: 'x', nested: { padding: 'x'.repeat(padding) } }
      const { quote_id } = (await client.send('/v1/quotes', { model, input })).body
      intents.push(await send(url, key, { key: crypto.randomUUID(), body: { model, input, quote_id } }))
    }
  }
  await Promise.all(Array.from({ length: clients }, work))
  return intents
}

async function send(url: string, key: string, intent: Pick<Intent, 'key' | 'body'>): Promise<Intent> {
  const headers = { 'idempotency-key': intent.key }
  return { ...intent, answer: await openClient(url, key).send('/v1/generate', intent.body, headers) }
}

const wasAcknowledged = ({ answer }: Intent): boolean => answer.status === 202 || answer.status === 200

function expectRefusedInWords(refused: readonly Intent[]): void {
  for (const { answer } of refused) {
    expect(answer.status).toBe(500)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(answer.body).toMatchObject({ code: 'internal', detail: expect.stringMatching(/server/) })
  }
}

/** Holds that everything intended, sent once more, is one job that succeeded and was paid for, and that there is no other. */
async function expectEachOnce(line: CommandLine, url: string, key: string, intents: readonly Intent[]): Promise<void> {
  const client = openClient(url, key)
  for (const intent of intents) {
    const again = await client.send('/v1/generate?wait=true', intent.body, { 'idempotency-key': intent.key })
    expect(again.body).toMatchObject({ status: 'succeeded', billing: { held: price, charged: price } })
    if (wasAcknowledged(intent)) expect(again.body.job_id).toBe(intent.answer.body.job_id)
  }
  expect((await client.send('/v1/jobs?limit=1')).body.total).toBe(intents.length)
  expect((await client.send('/v1/wallet')).body).toMatchObject({
    available: 1_000_000 - intents.length * price,
    held: 0,
  })
  expect(await line.json(['ledger', 'verify'])).toMatchObject({ ok: true, problems: [] })
}

async function readReadiness(url: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}/readyz`)
  return { status: response.status, body: await response.json() }
}

/** Jobs in the file alone, without its log. */
function countJobs(file: string): number {
  const copy = join(folder.path, 'copy.db')
  copyFileSync(file, copy)
  using db = { connection: new Database(copy), [Symbol.dispose]: () => db.connection.close() }
  return Number(db.connection.prepare('SELECT count(*) FROM jobs').pluck().get())
}

const broken = { status: 503, body: { reason: expect.stringMatching(/database cannot be written: disk I\/O error/) } }

test.skipIf(unbuilt !== '')(
  `commits that cannot be flushed are refused, /readyz says so, and the same server goes on when the disk does${unbuilt}`,
  { timeout: 120_000 },
  async () => {
    const { line, key } = await open()
    await using _line = line
    const { httpUrl } = await serve(line)
    const before = await start(httpUrl, key, 20)
    expect(before.every(wasAcknowledged)).toBe(true)

    breakDisk('.db-wal')
    const during = await start(httpUrl, key, 20)
    expect(during.filter(wasAcknowledged)).toEqual([])
    expectRefusedInWords(during)
    await expect.poll(() => readReadiness(httpUrl)).toMatchObject(broken)
    expect((await openClient(httpUrl, key).send('/v1/jobs')).body.total, 'who only reads is still answered').toBe(20)

    breakDisk('.db-wal', 50)
    const flapping = await start(httpUrl, key, 60)
    expectRefusedInWords(flapping.filter((intent) => !wasAcknowledged(intent)))
    expect(new Set(flapping.map(wasAcknowledged)), 'some went through, some did not').toEqual(new Set([true, false]))

    mendDisk()
    await expect.poll(() => readReadiness(httpUrl)).toMatchObject({ status: 200 })
    await expectEachOnce(line, httpUrl, key, [...before, ...during, ...flapping])
  },
)

test.skipIf(unbuilt !== '')(
  `a server that is killed while commits cannot be flushed comes back with all that was acknowledged, and nothing twice${unbuilt}`,
  { timeout: 120_000 },
  async () => {
    const { line, key } = await open()
    await using _line = line
    const intents: Intent[] = []
    for (const percent of [100, 50, 10]) {
      const server = await serve(line)
      intents.push(...(await start(server.httpUrl, key, 12)))
      breakDisk('.db-wal', percent)
      intents.push(...(await start(server.httpUrl, key, 12)))
      await server.stop('SIGKILL')
      mendDisk()
    }
    const server = await serve(line)
    const acknowledged = intents.filter(wasAcknowledged).length
    expect(acknowledged).toBeGreaterThanOrEqual(36)
    expect(acknowledged).toBeLessThanOrEqual(60)
    // What the log held is flushed into the file before anything is built on it.
    expect(countJobs(join(line.dataDir, 'mediagen.db'))).toBeGreaterThanOrEqual(acknowledged)
    await expectEachOnce(line, server.httpUrl, key, intents)
  },
)

test.skipIf(unbuilt !== '')(
  `a log that cannot be folded into a file that cannot be flushed holds everything meanwhile${unbuilt}`,
  { timeout: 120_000 },
  async () => {
    const { line, key } = await open()
    await using _line = line
    const server = await serve(line)
    // Only the file itself: its log and its folder can be flushed.
    breakDisk('/mediagen.db$')
    // Twice what the log holds before it is folded.
    const intents = await start(server.httpUrl, key, 40, 900_000)
    expect(intents.every(wasAcknowledged)).toBe(true)
    expect(statSync(join(line.dataDir, 'mediagen.db-wal')).size).toBeGreaterThan(1.5 * 4000 * 4096)
    await server.stop('SIGKILL')
    mendDisk()
    await expectEachOnce(line, (await serve(line)).httpUrl, key, intents)
  },
)

test.skipIf(unbuilt !== '')(
  `an output that cannot be flushed fails its run and nothing else${unbuilt}`,
  { timeout: 120_000 },
  async () => {
    const { line, key } = await open()
    await using _line = line
    const { httpUrl } = await serve(line)
    const client = openClient(httpUrl, key)
    breakDisk('/assets')
    const { body: failed } = await client.generate(model, { prompt: 'x' }, true)
    expect(failed).toMatchObject({
      status: 'failed',
      outputs: [],
      error: { code: 'output_not_stored', retryable: true },
      billing: { held: price, charged: 0, released: price },
    })
    expect(await readReadiness(httpUrl)).toMatchObject({ status: 200 })
    mendDisk()
    expect((await client.generate(model, { prompt: 'x' }, true)).body).toMatchObject({ status: 'succeeded' })
    expect((await client.send('/v1/wallet')).body).toMatchObject({ available: 1_000_000 - price, held: 0 })
    expect(await line.json(['ledger', 'verify'])).toMatchObject({ ok: true })
  },
)
