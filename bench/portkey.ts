// A picture of a provider through mediagen's `openai` engine and through Portkey's gateway: added milliseconds, calls a second,
// processor time. And what Portkey spends on its cheapest proxied call against a quote.
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, createBenchAccount, type BenchAccount, order } from './accounts.ts'
import { whileAwake } from './awake.ts'
import { type Bench, makeFolder, type Row, toRow } from './bench.ts'
import { fireHttp } from './http-load.ts'
import { describeMissingPortkey, type Portkey, portkeyVersion, startPortkey } from './portkey-server.ts'
import { type BenchProvider, startProvider } from './provider.ts'
import { connectRaw, type RawConnection, toRequest } from './raw-client.ts'
import { compare, type Side, type Spread, toSpread } from './rounds.ts'
import { type Server, startMediagen } from './servers.ts'

const model = 'bench/proxied/picture'
const prompt = 'mountains at sunrise above a quiet lake, haze'
const picturePath = '/v1/images/generations'
const pairs = 5
const warmUpSeconds = 3
const turns = 10
const turnSeconds = 0.6
// Calls at once of the rows that count calls a second.
const crowds = [16, 64]

/** One call by a client on a connection of its own; @throws Error when it was not answered with success. */
type Call = (connection: RawConnection) => Promise<void>

/** What a client may call. */
interface Target {
  readonly port: number
  readonly call: Call
}

/** Runs the benchmark. */
export async function benchPortkey(bench: Bench): Promise<readonly Row[]> {
  const missing = describeMissingPortkey()
  if (missing !== null)
    return [{ what: 'Portkey', value: 'not measured', byCpu: '', target: '', reached: false, figures: missing }]
  const dataDir = makeFolder(bench)
  const account = await createBenchAccount(dataDir)
  await using provider = await startProvider()
  await using portkey = await startPortkey(bench.cores)
  await using mediagen = await startMediagen(bench.cores, {
    MEDIAGEN_DATA_DIR: dataDir,
    MEDIAGEN_CATALOG: writeCatalog(dataDir, provider),
    BENCH_TOKEN: 'no-secret',
  })
  const proxied = toPortkeyTarget(portkey, provider)
  const made = await toMediagenTarget(mediagen, account)
  const rows = [
    await compareQuotes(portkey, provider, mediagen, account),
    await compareAdded({ port: provider.port, call: toCall({ model: 'any', prompt }) }, proxied, made),
  ]
  for (const crowd of crowds)
    rows.push(
      toRow(
        `proxied picture, ${crowd} at once : Portkey`,
        1,
        await compare(toSide(proxied, crowd, portkey), toSide(made.whole, crowd, mediagen), pairs),
      ),
    )
  return rows
}

function writeCatalog(folder: string, { port }: BenchProvider): string {
  const file = join(folder, 'proxied.yaml')
  const entry = {
    id: model,
    name: 'Proxied',
    description: 'A picture of the provider of the benchmark.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'bench',
    created: '2026-11-01',
    price: { credits: 2 },
    engine: { kind: 'openai', provider: 'bench', task: 'image', model: 'any', concurrency: 64 },
    input: { type: 'object', required: ['prompt'], properties: { prompt: { type: 'string', maxLength: 2000 } } },
  }
  const providers = { bench: { kind: 'openai', base_url: `http://127.0.0.1:${port}/v1`, token_env: 'BENCH_TOKEN' } }
  writeFileSync(file, JSON.stringify({ providers, models: [entry] }))
  return file
}

/** The headers that make Portkey call the provider of the benchmark. */
function toPortkeyHeaders({ port }: BenchProvider): Record<string, string> {
  const host = `http://127.0.0.1:${port}/v1`
  return { authorization: 'Bearer no-secret', 'x-portkey-provider': 'openai', 'x-portkey-custom-host': host }
}

function toPortkeyTarget({ port }: Portkey, provider: BenchProvider): Target {
  return { port, call: toCall({ model: 'any', prompt }, toPortkeyHeaders(provider)) }
}

/** A call whose answer holds the picture. */
function toCall(body: object, headers: Readonly<Record<string, string>> = {}): Call {
  const request = toRequest('POST', picturePath, headers, JSON.stringify(body))
  return async (connection) => {
    const answer = await connection.ask(request)
    if (answer.status !== 200 || !answer.body.includes('b64_json')) throw new Error(`${answer.status} ${answer.body}`)
  }
}

/** The steps of a client of mediagen: each includes those before it. */
interface MediagenTargets {
  /** With a quote at hand, until the record of the job that succeeded. */
  readonly record: Target
  /** Until the picture was fetched, too. */
  readonly picture: Target
  /** With a quote for each picture. */
  readonly whole: Target
}

async function toMediagenTarget({ httpUrl }: Server, account: BenchAccount): Promise<MediagenTargets> {
  const port = Number(new URL(httpUrl).port)
  const input = { prompt }
  const quoteRequest = toRequest('POST', '/v1/quotes', account.headers, JSON.stringify({ model, input }))
  const toQuoteId = (text: string): string => (JSON.parse(text) as { quote_id: string }).quote_id
  const known = toQuoteId(await ask(httpUrl, account, '/v1/quotes', { model, input }))

  async function record(connection: RawConnection, quoteId = known): Promise<string> {
    const headers = { ...account.headers, 'idempotency-key': randomUUID() }
    const body = JSON.stringify({ model, input, quote_id: quoteId })
    const answer = await connection.ask(toRequest('POST', '/v1/generate?wait=true', headers, body))
    const job = JSON.parse(answer.body) as { status?: string; outputs?: [{ url: string }] }
    if (job.status !== 'succeeded' || !job.outputs) throw new Error(`${answer.status} ${answer.body}`)
    return job.outputs[0].url
  }
  async function picture(connection: RawConnection, quoteId?: string): Promise<void> {
    const { pathname, search } = new URL(await record(connection, quoteId))
    const answer = await connection.ask(toRequest('GET', pathname + search, {}))
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body}`)
  }
  return {
    record: { port, call: async (connection) => void (await record(connection)) },
    picture: { port, call: (connection) => picture(connection) },
    whole: {
      port,
      call: async (connection) => picture(connection, toQuoteId((await connection.ask(quoteRequest)).body)),
    },
  }
}

/** Calls again and again for so long, on so many connections; answers with the milliseconds of each call. */
async function callFor(seconds: number, { port, call }: Target, connections: number): Promise<number[]> {
  const taken: number[] = []
  const endAt = performance.now() + seconds * 1000
  const client = async (): Promise<void> => {
    const connection = await connectRaw(port)
    for (let startedAt = performance.now(); startedAt < endAt;) {
      await call(connection)
      const endedAt = performance.now()
      taken.push(endedAt - startedAt)
      startedAt = endedAt
    }
    connection.close()
  }
  await whileAwake(() => Promise.all(Array.from({ length: connections }, client)))
  return taken
}

function toSide(target: Target, connections: number, server: Pick<Server, 'cpuSeconds'>): Side {
  return {
    fire: async (seconds) => (await callFor(seconds, target, connections)).length,
    cpuSeconds: () => server.cpuSeconds(),
  }
}

async function compareQuotes(
  portkey: Portkey,
  provider: BenchProvider,
  mediagen: Server,
  { headers }: BenchAccount,
): Promise<Row> {
  const url = `http://127.0.0.1:${portkey.port}`
  const proxied = { method: 'POST', path: picturePath, headers: toPortkeyHeaders(provider), body: { prompt } } as const
  const quoted = { method: 'POST', path: '/v1/quotes', headers, body: order } as const
  const found = await compare(
    { fire: (seconds) => fireHttp(url, proxied, seconds), cpuSeconds: () => portkey.cpuSeconds() },
    { fire: (seconds) => fireHttp(mediagen.httpUrl, quoted, seconds), cpuSeconds: () => mediagen.cpuSeconds() },
    pairs,
  )
  return toRow(`POST /v1/quotes : Portkey ${portkeyVersion}, a proxied call`, 1, found)
}

/** One call at a time, in turns: what each adds to the median of a direct call. */
async function compareAdded(direct: Target, proxied: Target, made: MediagenTargets): Promise<Row> {
  const sides = { direct, proxied, ...made }
  const medians = Object.fromEntries(Object.keys(sides).map((name) => [name, [] as number[]]))
  for (const target of Object.values(sides)) await callFor(warmUpSeconds, target, 1)
  for (let turn = 0; turn < turns; turn++)
    for (const [name, target] of Object.entries(sides))
      medians[name]?.push(toSpread(await callFor(turnSeconds, target, 1)).median)
  const added = (name: keyof typeof sides): Spread =>
    toSpread((medians[name] ?? []).map((ms, turn) => ms - (medians['direct']?.[turn] ?? Number.NaN)))
  const write = ({ median, min, max }: Spread): string =>
    `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)}) ms`
  const [record, picture, whole, rival] = [added('record'), added('picture'), added('whole'), added('proxied')]
  return {
    what: 'proxied picture, one at a time: added to a direct call',
    value: `${write(record)} against ${write(rival)}`,
    byCpu: '',
    target: '≤ Portkey',
    reached: record.median <= rival.median,
    figures: `with the picture fetched ${write(picture)}, with a quote each ${write(whole)}; direct ${toSpread(medians['direct'] ?? []).median.toFixed(2)} ms`,
    bars: [
      { name: 'mediagen', spread: record, target: null, unit: ' ms' },
      { name: 'Portkey', spread: rival, target: null, unit: ' ms' },
    ],
  }
}
