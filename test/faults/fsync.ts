// A disk that answers fsync with an I/O error, under the real server and its real load, and what must hold afterwards.
import { execFileSync } from 'node:child_process'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect } from 'vitest'
import { type CommandLine, createTestAccount, openClient, openCommandLine } from '../cli/command-line.ts'
import { makeFolder } from './fixture.ts'

const folder = makeFolder()
afterAll(() => folder[Symbol.dispose]())

export const model = 'test/instant/text-to-image'
export const price = 3
const clients = 4
const library = join(folder.path, 'failing-sync.so')
const control = join(folder.path, 'fault')
export const unbuilt = whyNotBuilt()

type Answer = Awaited<ReturnType<ReturnType<typeof openClient>['send']>>

/** What a client intended and was told. */
export interface Intent {
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
export const breakDisk = (text: string, percent = 100): void => writeFileSync(control, `${text} ${percent}`)
export const mendDisk = (): void => rmSync(control, { force: true })

/** The environment of processes whose disk can be broken. */
export const breakable = { LD_PRELOAD: library, MEDIAGEN_TEST_FAULT: control }

export async function serve(line: CommandLine) {
  return await line.serve(breakable)
}

export async function open() {
  mendDisk()
  const line = openCommandLine({
    MEDIAGEN_RATE_LIMIT: '0',
    MEDIAGEN_BYTE_RATE: '0',
    MEDIAGEN_MAX_QUEUED_JOBS: '100000',
  })
  const { accountId, key } = await createTestAccount(line)
  await line.json(['admin', 'credits', 'grant', '--account', accountId, '--credits', '999000'])
  return { line, key }
}

/** Starts generations from several clients at once. */
export async function start(url: string, key: string, starts: number, padding = 0): Promise<Intent[]> {
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

export const wasAcknowledged = ({ answer }: Intent): boolean => answer.status === 202 || answer.status === 200

export function expectRefusedInWords(refused: readonly Intent[]): void {
  for (const { answer } of refused) {
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(answer.body).toMatchObject({ code: 'storage_unavailable', detail: expect.stringMatching(/\w+ \w+/) })
  }
}

/** Holds that everything intended, sent once more, is one job that succeeded and was paid for, and that there is no other. */
export async function expectEachOnce(
  line: CommandLine,
  url: string,
  key: string,
  intents: readonly Intent[],
): Promise<void> {
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
  expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ ok: true, problems: [] })
}

export async function readReadiness(url: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}/readyz`)
  return { status: response.status, body: await response.json() }
}

/** Jobs in the file alone, without its log. */
export function countJobs(file: string): number {
  const copy = join(folder.path, 'copy.db')
  copyFileSync(file, copy)
  using db = { connection: new Database(copy), [Symbol.dispose]: () => db.connection.close() }
  return Number(db.connection.prepare('SELECT count(*) FROM jobs').pluck().get())
}

export const broken = {
  status: 503,
  body: { reason: expect.stringMatching(/database cannot be written: disk I\/O error/) },
}
