// The real server is killed with SIGKILL again and again under load, and each acknowledged job still ends exactly once.
import { join } from 'node:path'
import { expect } from 'vitest'
import { type CommandLine, openClient, openCommandLine, type Served, testCatalog } from '../cli/command-line.ts'
import { createChance } from '../simulation/random.ts'
import { afterLeases } from './after-leases.ts'

const clients = 6
const startsBetweenKills = 24
const credits = 1_000_000
const models = [
  'test/instant/text-to-image',
  'test/brief/text-to-image',
  'test/usage/text-to-image',
  'test/failing/text-to-image',
]

/** What a client was told of one intended generation. */
interface Intent {
  readonly key: string
  readonly model: string
  readonly input: object
  quoteId: string | null
  jobId: string | null
}

interface JobRecord {
  readonly job_id: string
  readonly status: string
  readonly billing: { held: number; charged: number; released: number }
}

/** Kills a server so many times under load, at moments that the seed decides, and holds that nothing is lost, doubled or stranded. */
export async function killUnderLoad(kills: number, seed: number): Promise<void> {
  await using line = openCommandLine({
    MEDIAGEN_RATE_LIMIT: '0',
    MEDIAGEN_BYTE_RATE: '0',
    MEDIAGEN_MAX_QUEUED_JOBS: '100000',
    MEDIAGEN_CATALOG: `${testCatalog}:${join(import.meta.dirname, 'models.yaml')}`,
  })
  const { number: random } = createChance(seed)
  const { account_id } = await line.json([
    'admin',
    'accounts',
    'create',
    '--name',
    'crash',
    '--credits',
    String(credits),
  ])
  const permissions = 'generate,jobs:read,wallet:read'
  const { key } = await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions])
  const intents: Intent[] = []
  for (let kill = 0; kill < kills; kill++) {
    const server = await line.serve()
    const load = runLoad(server, key, intents, random, kill)
    await load.underWay
    setTimeout(() => server.process.kill('SIGKILL'), random() * 400)
    await server.ended
    await load.ended
  }
  await checkAll(line, await line.serve(afterLeases.env), key, intents, kills)
}

/** Clients that start generations until the server is gone; what was not acknowledged is sent again with its key. */
function runLoad(server: Served, key: string, intents: Intent[], random: () => number, round: number) {
  const client = openClient(server.httpUrl, key)
  const { promise: underWay, resolve } = Promise.withResolvers<void>()
  const pending = intents.filter((intent) => intent.jobId === null)
  for (let i = 0; i < startsBetweenKills; i++) {
    const model = models[Math.floor(random() * models.length)] as string
    const input = model.startsWith('test/usage') ? { seconds: 5, used: 3 } : { prompt: `${round}-${i}` }
    const intent: Intent = { key: `${round}-${i}`, model, input, quoteId: null, jobId: null }
    intents.push(intent)
    pending.push(intent)
  }
  async function work(): Promise<void> {
    for (let intent = pending.shift(); intent; intent = pending.shift()) {
      const { model, input } = intent
      intent.quoteId ??= (await client.send('/v1/quotes', { model, input })).body.quote_id as string
      const body = { model, input, quote_id: intent.quoteId }
      const answer = await client.send('/v1/generate', body, { 'idempotency-key': intent.key })
      if (answer.status >= 300) throw new Error(`the start was refused: ${JSON.stringify(answer.body)}`)
      intent.jobId = answer.body.job_id as string
      resolve()
    }
  }
  const gone = (error: unknown): void => {
    // fetch throws a TypeError when the connection breaks; anything else is a finding.
    if (!(error instanceof TypeError) && !(error instanceof SyntaxError)) throw error
  }
  const ended = Promise.all(Array.from({ length: clients }, () => work().catch(gone))).finally(resolve)
  return { underWay, ended }
}

async function checkAll(
  line: CommandLine,
  server: Served,
  key: string,
  intents: readonly Intent[],
  kills: number,
): Promise<void> {
  const client = openClient(server.httpUrl, key)
  const acknowledged = intents.filter((intent) => intent.jobId !== null)
  // Each kill waits for the first of its round; on a slow machine it comes before the second.
  expect(acknowledged.length).toBeGreaterThanOrEqual(kills)
  const jobs: JobRecord[] = []
  for (const { key: idempotencyKey, jobId, model, input, quoteId } of acknowledged) {
    const again = await client.send(
      '/v1/generate?wait=true',
      { model, input, quote_id: quoteId as string },
      { 'idempotency-key': idempotencyKey },
    )
    expect(again.body.job_id).toBe(jobId)
    expect(['succeeded', 'failed']).toContain(again.body.status)
    jobs.push(again.body as JobRecord)
  }
  for (const { billing } of jobs) expect(billing.charged + billing.released).toBe(billing.held)
  // A start may be durable although its answer was lost: such a job is not acknowledged, but it is whole.
  const { body: all } = await client.send('/v1/jobs?limit=1')
  expect(all.total).toBeGreaterThanOrEqual(acknowledged.length)
  expect(all.total).toBeLessThanOrEqual(intents.length)
  await endOfAll(server.httpUrl, key)
  const wallet = (await client.send('/v1/wallet')).body
  expect(wallet.held).toBe(0)
  await server.stop()
  expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ ok: true, problems: [] })
  process.stdout.write(
    `${kills} kills, ${intents.length} starts intended, ${acknowledged.length} acknowledged, ${all.total} jobs\n`,
  )
}

/** Waits for the jobs whose answers were lost, one by one: the events of a job end with it. */
async function endOfAll(url: string, key: string): Promise<void> {
  const client = openClient(url, key)
  for (const status of ['queued', 'running']) {
    while (true) {
      const [job] = (await client.send(`/v1/jobs?status=${status}&limit=1`)).body.data as JobRecord[]
      if (!job) break
      const events = await fetch(`${url}/v1/jobs/${job.job_id}/events`, { headers: { authorization: `Bearer ${key}` } })
      await events.text()
    }
  }
}
