// The restore drill: an installation under load is backed up, destroyed, restored and goes on, on both databases.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillDisk, makeFolder, modelOf, mountDisk, whyNoMounts, writeCatalog } from '../faults/fixture.ts'
import { bucketName, startS3 } from '../files/blobs/s3-server.ts'
import {
  installedPrograms,
  type PostgresServer,
  startInstalledPostgres,
  startPostgres,
} from '../storage/postgres-server.ts'
import { awaitFile } from '../test-app.ts'
import {
  type CommandLine,
  createTestAccount,
  openClient,
  openCommandLine,
  type Served,
  testCatalog,
  watchEnd,
} from './command-line.ts'

const model = 'test/instant/text-to-image'
const clients = 4
const noMounts = whyNoMounts()

interface Database {
  readonly env: Readonly<Record<string, string>>
  /** Another database, with nothing in it. */
  fresh(): Promise<Readonly<Record<string, string>>>
}

/** Clients that start and delete jobs until they are stopped. */
function runLoad({ httpUrl }: Served, key: string) {
  const client = openClient(httpUrl, key)
  const succeeded: string[] = []
  const stopping = new AbortController()
  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      const { body } = await client.generate(model, { prompt: crypto.randomUUID() }, true)
      succeeded.push(body.job_id)
      if (succeeded.length % 3 === 0)
        await fetch(`${httpUrl}/v1/jobs/${body.job_id}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${key}` },
        })
    }
  }
  const ended = Promise.all(Array.from({ length: clients }, work))
  return {
    async reach(jobs: number): Promise<void> {
      await expect.poll(() => succeeded.length, { timeout: 600_000 }).toBeGreaterThanOrEqual(jobs)
    },
    async stop(): Promise<void> {
      stopping.abort()
      await ended
    },
  }
}

/** Unlike `line.json`, it makes no database first. */
async function restore(line: CommandLine, folder: string, env: Readonly<Record<string, string>>) {
  const { stdout, stderr } = await line.run(['restore', folder, '--json'], env)
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout)
}

async function drill(line: CommandLine, database: Database): Promise<void> {
  const server = await line.serve(database.env)
  const { key, accountId } = await createTestAccount(line)
  await line.json(['credits', 'grant', '--account', accountId, '--credits', '1000000'], database.env)
  const client = openClient(server.httpUrl, key)
  const first = await client.generate(model, { prompt: 'first' }, true)
  const url = new URL(first.body.outputs[0].url)
  const content = Buffer.from(await (await fetch(url)).arrayBuffer())
  const quote = (await client.send('/v1/quotes', { model, input: { prompt: 'later' } })).body
  const folder = join(line.folder, 'backup')

  const load = runLoad(server, key)
  await load.reach(30)
  const early = JSON.parse((await line.spawn(['backup', folder, '--json'], database.env)).stdout)
  await load.reach(80)
  const backup = JSON.parse((await line.spawn(['backup', folder, '--json'], database.env)).stdout)
  expect(backup.files).toBeGreaterThan(early.files)
  expect(backup.files_copied, 'what is there already is not copied again').toBeLessThan(backup.files)
  await load.reach(100)
  await load.stop()

  await server.stop('SIGKILL')
  rmSync(line.dataDir, { recursive: true })
  const there = await database.fresh()
  const restored = await restore(line, folder, there)
  expect(restored).toMatchObject({ ledger_root: backup.ledger_root, ledger_is_same: true, files: backup.files })
  expect(restored).toMatchObject({ problems: [], jobs_to_review: 0 })

  expect(JSON.parse((await line.run(['doctor', '--files', '--json'], there)).stdout)).toEqual([])

  const next = await line.serve(there)
  const again = openClient(next.httpUrl, key)
  expect((await again.send(`/v1/jobs/${first.body.job_id}`)).body).toMatchObject({ status: 'succeeded' })
  expect(Buffer.from(await (await fetch(next.httpUrl + url.pathname + url.search)).arrayBuffer()).equals(content)).toBe(
    true,
  )
  const all = (await again.send('/v1/jobs?status=succeeded&limit=100')).body.data
  expect(all.length).toBeGreaterThan(40)
  for (const { outputs } of all) expect((await fetch(outputs[0].url)).status).toBe(200)
  const body = { model, input: { prompt: 'later' }, quote_id: quote.quote_id }
  const later = await again.send('/v1/generate?wait=true', body, { 'idempotency-key': 'later' })
  expect(later.body).toMatchObject({ status: 'succeeded' })
  await next.stop()
  expect(await line.json(['ledger', 'verify'], there)).toMatchObject({ ok: true })
}

/** Jobs that may have cost money since the backup, and others, which were queued or running. */
async function holdPaid(line: CommandLine, programs: string, database: Database): Promise<void> {
  const { key } = await createTestAccount(line)
  const api = await line.serve({ ...database.env, MEDIAGEN_ROLES: 'api' })
  const start = async (name: string) =>
    (await openClient(api.httpUrl, key).generate(modelOf(name), {}, false)).body.job_id as string
  const queued = { paid: await start('paid'), free: await start('free') }
  const folder = join(line.folder, 'held')
  const before = await line.json(['backup', folder], database.env)
  // They run after the backup.
  const worker = await line.serve({ ...database.env, MEDIAGEN_ROLES: 'worker' })
  await Promise.all([awaitFile(join(programs, 'paid')), awaitFile(join(programs, 'free'))])
  const during = join(line.folder, 'during')
  await line.json(['backup', during], database.env)
  await Promise.all([worker.stop('SIGKILL'), api.stop('SIGKILL')])
  for (const [from, held] of [
    [folder, 1],
    [during, 1],
  ] as const) {
    rmSync(line.dataDir, { recursive: true })
    for (const name of ['paid', 'free']) rmSync(join(programs, name), { force: true })
    const there = await database.fresh()
    const restored = await restore(line, from, there)
    expect(restored).toMatchObject({ problems: [], jobs_to_review: held, ledger_root: before.ledger_root })
    const server = await line.serve({ ...there, MEDIAGEN_LEASE_SECONDS: '3' })
    const client = openClient(server.httpUrl, key)
    const statusOf = async (jobId: string) => (await client.send(`/v1/jobs/${jobId}`)).body.status
    await expect.poll(() => statusOf(queued.free), { timeout: 120_000 }).toBe('succeeded')
    await expect.poll(() => statusOf(queued.paid), { timeout: 120_000 }).toBe('needs_review')
    expect(existsSync(join(programs, 'paid')), 'it was not run again').toBe(false)
    await server.stop('SIGKILL')
  }
}

function tryBoth(open: () => Promise<{ line: CommandLine; database: Database; programs: string }>): void {
  test('backed up under load, destroyed, restored, and it goes on', async () => {
    const { line, database } = await open()
    await using _line = line
    await drill(line, database)
  })

  test('what may have cost money since the backup is not run again', async () => {
    const { line, database, programs } = await open()
    await using _line = line
    await holdPaid(line, programs, database)
  })
}

const folders: ReturnType<typeof makeFolder>[] = []
afterAll(() => folders.forEach((folder) => folder[Symbol.dispose]()))

function openProgramLine(env: Readonly<Record<string, string>> = {}) {
  const folder = makeFolder()
  folders.push(folder)
  const begin = (name: string) => `touch "$1/${name}"; sleep 1; cp "$0" out.png`
  const catalog = writeCatalog(folder.path, [
    { name: 'paid', script: begin('paid'), resumable: false },
    { name: 'free', script: begin('free') },
  ])
  const settings = {
    MEDIAGEN_RATE_LIMIT: '0',
    MEDIAGEN_BYTE_RATE: '0',
    MEDIAGEN_CATALOG: `${testCatalog}:${catalog}`,
    ...env,
  }
  return { line: openCommandLine(settings), programs: folder.path }
}

describe('SQLite', () => {
  tryBoth(async () => ({ ...openProgramLine(), database: { env: {}, fresh: async () => ({}) } }))

  test('a backup that is killed is refused, and the next one is whole', async () => {
    await using line = openCommandLine({ MEDIAGEN_RATE_LIMIT: '0' })
    const server = await line.serve()
    const { key } = await createTestAccount(line)
    for (let job = 0; job < 10; job++) await openClient(server.httpUrl, key).generate(model, { prompt: `${job}` }, true)
    const folder = join(line.folder, 'backup')
    const child = await line.start(['backup', folder])
    const ended = watchEnd(child)
    // In the middle: the database is there, and files begin to be.
    await Promise.race([
      ended,
      expect
        .poll(() => existsSync(folder) && readdirSync(folder).some((name) => name.startsWith('files-')), {
          interval: 1,
        })
        .toBe(true),
    ])
    child.kill('SIGKILL')
    await ended
    const there = { MEDIAGEN_DATA_DIR: join(line.folder, 'new') }
    if (!existsSync(join(folder, 'manifest.json'))) {
      expect((await line.run(['restore', folder], there)).stderr).toMatch(
        /^mediagen: The backup in .* was cut short: it has no manifest\.json/,
      )
      expect(existsSync(there.MEDIAGEN_DATA_DIR)).toBe(false)
    }
    const whole = await line.json(['backup', folder])
    expect(readdirSync(folder).filter((name) => /^(database|files)/.test(name))).toHaveLength(2)
    expect(await line.json(['restore', folder], there)).toMatchObject({ files: whole.files, problems: [] })
    await server.stop()
  })

  test.skipIf(noMounts !== '')(
    `a full disk leaves the earlier backup whole, and with room the same command goes on${noMounts}`,
    async () => {
      await using line = openCommandLine({ MEDIAGEN_RATE_LIMIT: '0' })
      using target = makeFolder()
      using _disk = mountDisk(target.path, '3m')
      const server = await line.serve()
      const { key } = await createTestAccount(line)
      const { generate } = openClient(server.httpUrl, key)
      await generate(model, { prompt: 'a' }, true)
      const folder = join(target.path, 'backup')
      const early = await line.json(['backup', folder])
      for (let job = 0; job < 5; job++) await generate(model, { prompt: `${job}` }, true)
      const filler = join(target.path, 'filler')
      fillDisk(filler)
      const { status, stderr } = await line.run(['backup', folder])
      expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/disk.* is full/) })
      expect(await line.json(['restore', folder, '--check'])).toMatchObject({ files: early.files, whole: true })
      rmSync(filler)
      const later = await line.json(['backup', folder])
      expect(later.files).toBeGreaterThan(early.files)
      expect(await line.json(['restore', folder], { MEDIAGEN_DATA_DIR: join(line.folder, 'new') })).toMatchObject({
        problems: [],
      })
      await server.stop()
    },
  )
})

test('files in a bucket stay there, and a restore looks for each of them', async () => {
  await using s3 = await startS3()
  await using line = openCommandLine({
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
    MEDIAGEN_FILES_URL: `s3://${bucketName}/backed-up`,
  })
  const server = await line.serve()
  const { key } = await createTestAccount(line)
  const { body } = await openClient(server.httpUrl, key).generate(model, { prompt: 'a' }, true)
  const folder = join(line.folder, 'backup')
  const { status, stderr, stdout } = await line.run(['backup', folder, '--json'])
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: `The files stay in s3://${bucketName}/backed-up, and are not in the backup: switch on versions there.\n`,
  })
  const there = { MEDIAGEN_DATA_DIR: join(line.folder, 'new') }
  const { files } = JSON.parse(stdout)
  expect(await restore(line, folder, there)).toMatchObject({ files, problems: [] })
  expect((await line.run(['restore', folder], { ...there, MEDIAGEN_FILES_URL: '' })).stderr).toMatch(
    /There is a database/,
  )
  await fetch(`${server.httpUrl}/v1/jobs/${body.job_id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  })
  let others = 0
  const latest = () => ({ MEDIAGEN_DATA_DIR: join(line.folder, `other-${others}`) })
  // Its file goes a moment later.
  await expect
    .poll(async () => {
      others += 1
      return (await line.run(['restore', folder, '--json'], latest())).stderr
    })
    .toMatch(/^mediagen: The file job_.* is not what it was in s3:/)
  expect(existsSync(join(latest().MEDIAGEN_DATA_DIR, 'mediagen.db'))).toBe(false)
  expect((await line.run(['restore', folder], { ...latest(), MEDIAGEN_FILES_URL: '' })).stderr).toMatch(
    /stayed in s3:.*set MEDIAGEN_FILES_URL/,
  )
  await server.stop()
})

describe.skipIf(installedPrograms === null)('PostgreSQL', () => {
  const programs = installedPrograms ?? ''
  let server: PostgresServer
  beforeAll(async () => {
    server = await startInstalledPostgres(programs)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  tryBoth(async () => {
    const url = await server.createDatabase()
    const env = { MEDIAGEN_DATABASE_URL: url }
    const opened = openProgramLine({ PATH: `${programs}:${process.env['PATH']}`, ...env })
    await opened.line.run(['migrate'])
    const fresh = async () => ({ MEDIAGEN_DATABASE_URL: await server.createDatabase() })
    return { ...opened, database: { env, fresh } }
  })

  test('programs of another version are refused by name', async () => {
    await using newer = await startPostgres()
    const url = await newer.createDatabase()
    await using line = openCommandLine({ PATH: `${programs}:${process.env['PATH']}`, MEDIAGEN_DATABASE_URL: url })
    await line.run(['migrate'])
    const { stderr } = await line.run(['backup', join(line.folder, 'backup')])
    expect(stderr).toMatch(
      /^mediagen: pg_dump of PostgreSQL \d+ is needed, and the one of version \d+ is in PATH: install postgresql-client-\d+/,
    )
  })
})
