// Machines whose clocks are ten minutes apart, and two workers that believe in one job.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openClient, openCommandLine, type Served } from '../cli/command-line.ts'
import { hasPostgres, type PostgresServer, runSql, startPostgres } from '../storage/postgres-server.ts'
import { startFleet } from './fleet.ts'
import { startLoad } from './load.ts'
import { shiftClock } from './shift-clock.ts'

const tenMinutesMs = 600_000
const leaseSeconds = 3
const quoteSeconds = 60
const rate = 100
const longModel = 'test/long/text-to-image'
const longMs = 6000

const jump = ({ process }: Served): void => void process.kill('SIGUSR2')

describe.skipIf(!hasPostgres)('clocks that are ten minutes apart', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test.each([
    [
      'ahead',
      tenMinutesMs,
      /^mediagen: The clock of this machine is (599|60\d) s ahead of that of the database \S+ at /,
    ],
    [
      'behind',
      -tenMinutesMs,
      /^mediagen: The clock of this machine is (599|60\d) s behind that of the database \S+ at /,
    ],
  ])('a process that is %s ends at once with one sentence, and leaves the database as it was', async (_, ms, words) => {
    const url = await server.createDatabase()
    await using line = openCommandLine({ MEDIAGEN_DATABASE_URL: url, MEDIAGEN_MIGRATE: 'true' })
    for (const command of [['serve'], ['migrate']]) {
      const { status, stdout, stderr } = await line.spawn(command, shiftClock(ms, 'at once'))
      expect([status, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(words)
      expect(stderr).toMatch(/^[^\n]+; set both by a time server \(NTP\)\.\n$/)
    }
    expect(await runSql(url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toEqual([])
  })

  test('processes whose clocks go off keep what the others have promised, and no lease is misjudged', async () => {
    const database = await server.createDatabase()
    await using fleet = await startFleet({
      MEDIAGEN_DATABASE_URL: database,
      MEDIAGEN_RATE_LIMIT: String(rate),
      MEDIAGEN_QUOTE_TTL_SECONDS: String(quoteSeconds),
    })
    const { line, models } = fleet
    const early = [
      await fleet.serve('api', shiftClock(tenMinutesMs, 'later')),
      await fleet.serve('worker', shiftClock(tenMinutesMs, 'later')),
    ]
    const late = [
      await fleet.serve('api', shiftClock(-tenMinutesMs, 'later')),
      await fleet.serve('worker', shiftClock(-tenMinutesMs, 'later')),
    ]
    for (const one of [...early, ...late]) jump(one)
    const doors = [fleet.apis[0], early[0], late[0]].map((one) => one?.httpUrl ?? '')

    // A quote of any door starts a job at any other; a URL of one is good at any other; a key lives as long everywhere.
    const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'doors', '--credits', '1000'])
    const permissions = 'generate,jobs:read,wallet:read'
    const makeKey = async (...more: string[]): Promise<string> =>
      (await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions, ...more])).key
    const key = await makeKey('--expires-in', '5m')
    const input = { prompt: 'a lighthouse' }
    const model = 'null/instant/text-to-image'
    let jobs = 0
    for (const from of doors)
      for (const to of doors) {
        const quote = await openClient(from, key).send('/v1/quotes', { model, input })
        expect(Date.parse(quote.body.expires_at) - Date.now()).toBeLessThanOrEqual(quoteSeconds * 1000 + 1000)
        const body = { model, input, quote_id: quote.body.quote_id }
        const started = await openClient(to, key).send('/v1/generate?wait=true', body, {
          'idempotency-key': crypto.randomUUID(),
        })
        expect(started.body).toMatchObject({ status: 'succeeded', attempts: 1 })
        jobs += 1
        const { pathname, search } = new URL(started.body.outputs[0].url)
        for (const door of doors) expect((await fetch(door + pathname + search)).status).toBe(200)
      }

    // The rate of a key is that of all doors together.
    const other = await makeKey()
    const since = performance.now()
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, index) => openClient(doors[index % 3] ?? '', other).send('/v1/wallet')),
    )
    const accepted = answers.filter(({ status }) => status === 200).length
    // The burst, what came back meanwhile, and what each door holds in reserve.
    expect(accepted).toBeLessThan(2 * rate + (rate * (performance.now() - since)) / 1000)
    expect(accepted).toBeGreaterThanOrEqual(rate)

    const load = await startLoad({ line, doors, models, paceMs: 200, clients: 4 })
    await pause(leaseSeconds * 3000)
    // Whoever sweeps now has a clock that is off.
    for (const one of [fleet.apis[0], fleet.apis[1], ...fleet.workers]) one?.process.kill('SIGTERM')
    await pause(leaseSeconds * 3000)
    doors.shift()
    console.table([{ goesOn: await load.goesOn(), ...(await load.check(jobs)) }])
    // What a stopping worker gave back is another attempt, but no loss.
    expect(await runSql(database, 'SELECT job_id FROM jobs WHERE lost_runs > 0')).toEqual([])
  })

  test('a worker that stands still loses its job, and what it says when it goes on does not count', async () => {
    await using fleet = await startFleet({
      MEDIAGEN_DATABASE_URL: await server.createDatabase(),
      MEDIAGEN_LEASE_SECONDS: String(leaseSeconds),
    })
    const { line, apis } = fleet
    const [first] = apis
    const catalog = join(line.folder, 'long.yaml')
    writeFileSync(catalog, longCatalog)
    const withLong = { MEDIAGEN_CATALOG: catalog }
    const api = await fleet.serve('api', withLong)
    const worker = await fleet.serve('worker', { ...withLong, ...shiftClock(tenMinutesMs, 'later') })
    jump(worker)
    const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'one', '--credits', '100'])
    const permissions = 'generate,jobs:read,wallet:read'
    const { key } = await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions])
    const client = openClient(api.httpUrl, key)
    const { body: started } = await client.generate(longModel, { prompt: 'x' }, false)
    const read = async () => (await client.send(`/v1/jobs/${started.job_id}`)).body
    await expect.poll(async () => (await read()).status).toBe('running')
    worker.process.kill('SIGSTOP')
    const other = await fleet.serve('worker', { ...withLong, ...shiftClock(-tenMinutesMs, 'later') })
    jump(other)
    await expect.poll(async () => (await read()).attempts).toBe(2)
    // Both run it now.
    worker.process.kill('SIGCONT')
    await expect.poll(async () => (await read()).status).toBe('succeeded')
    expect(await read()).toMatchObject({ attempts: 2, billing: { charged: 3, released: 0 } })
    expect((await client.send('/v1/wallet')).body).toEqual({ available: 97, held: 0 })
    expect((await worker.stop()).status).toBe(0)
    expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ ok: true, jobs: 1, problems: [] })
    expect(first?.process.exitCode).toBeNull()
  })
})

const longCatalog = JSON.stringify({
  models: [
    {
      id: longModel,
      name: 'Long',
      description: 'Takes its time.',
      category: 'text-to-image',
      modality: 'image',
      owned_by: 'tests',
      created: '2026-11-01',
      price: { credits: 3 },
      engine: { kind: 'null', delay_ms: longMs, picture: true, concurrency: 4 },
      input: {
        type: 'object',
        additionalProperties: false,
        required: ['prompt'],
        properties: { prompt: { type: 'string', minLength: 1, maxLength: 2000 } },
      },
    },
  ],
})
