// `doctor` finds each of these planted faults and names the command that mends it, and `status` shows on one screen what runs,
// waits and is wrong.
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { makeFolder, mountDisk, whyNoMounts } from '../faults/fixture.ts'
import { breakable, breakDisk, mendDisk, unbuilt } from '../faults/fsync.ts'
import { installedPrograms, startPostgres } from '../storage/postgres-server.ts'
import { openRaw } from '../storage/sqlite-fixture.ts'
import { type CommandLine, createTestAccount, openClient, openCommandLine, testCatalog } from './command-line.ts'

const model = 'test/instant/text-to-image'
const noMounts = whyNoMounts()
let line: CommandLine
let picture: string
let copies = 0

beforeAll(async () => {
  line = openCommandLine()
  const server = await line.serve()
  const { key } = await createTestAccount(line)
  await openClient(server.httpUrl, key).generate(model, { prompt: 'a' }, true)
  await server.stop()
  const all = readdirSync(join(line.dataDir, 'assets'), { recursive: true, encoding: 'utf8' })
  picture = all.find((name) => name.endsWith('.png')) ?? ''
})
afterAll(() => line[Symbol.asyncDispose]())

/** The same installation again, to plant a fault in. */
function copy() {
  const dataDir = join(line.folder, `copy-${++copies}`)
  cpSync(line.dataDir, dataDir, { recursive: true })
  const database = join(dataDir, 'mediagen.db')
  return { dataDir, database, assets: join(dataDir, 'assets'), env: { MEDIAGEN_DATA_DIR: dataDir } }
}

interface Planted {
  readonly env: Readonly<Record<string, string>>
  readonly options?: readonly string[]
  readonly check: string
  readonly problem: RegExp
  readonly command: string | RegExp
}

/** Runs SQL on a database whose rules are off. */
function change(database: string, sql: string): void {
  using db = openRaw(database)
  for (const name of db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all())
    db.exec(`DROP TRIGGER ${name}`)
  db.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`)
}

const faults: Readonly<Record<string, () => Planted>> = {
  'a wrong setting': () => ({
    env: { ...copy().env, MEDIAGEN_WAIT_SECONDS: 'soon' },
    check: 'settings',
    problem: /^MEDIAGEN_WAIT_SECONDS must be .*, but is "soon"$/,
    command: 'unset MEDIAGEN_WAIT_SECONDS',
  }),
  'a misspelt setting': () => ({
    env: { ...copy().env, MEDIAGEN_DATADIR: '/srv' },
    check: 'settings',
    problem: /^MEDIAGEN_DATADIR is not a setting: did you mean MEDIAGEN_DATA_DIR\?$/,
    command: 'unset MEDIAGEN_DATADIR',
  }),
  'no database': () => ({
    env: { MEDIAGEN_DATA_DIR: join(line.folder, 'nowhere') },
    check: 'database',
    problem: /^There is no database /,
    command: 'mediagen migrate',
  }),
  'a migration that is missing': () => {
    const { env, database } = copy()
    change(database, 'DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)')
    return {
      env,
      check: 'database',
      problem: /older version of mediagen \(migration \d{4}-/,
      command: 'mediagen migrate',
    }
  },
  'a newer database': () => {
    const { env, database } = copy()
    change(database, "INSERT INTO migrations VALUES (9999, '9999-later', 'x', 0, 0)")
    const command = 'git pull && npm ci --omit=dev'
    return { env, check: 'database', problem: /newer version of mediagen \(migration 9999-later/, command }
  },
  'a damaged database': () => {
    const { env, database } = copy()
    const bytes = readFileSync(database)
    // Its schema is before, and can be read.
    bytes.fill(0xff, Math.floor(bytes.length / 2 / 4096) * 4096)
    writeFileSync(database, bytes)
    return { env, check: 'database', problem: / is damaged/, command: 'mediagen restore BACKUP' }
  },
  'a restore that was cut short': () => {
    const { env, dataDir } = copy()
    writeFileSync(join(dataDir, 'restoring'), '')
    return { env, check: 'database', problem: / is being restored from a backup/, command: 'mediagen restore BACKUP' }
  },
  'a database that all users can read': () => {
    const { env, database } = copy()
    chmodSync(database, 0o644)
    return { env, check: 'database', problem: /open to all users$/, command: `chmod o= ${database}` }
  },
  'no write-ahead log': () => {
    const { env, database } = copy()
    using db = openRaw(database)
    db.pragma('journal_mode = DELETE')
    return { env, check: 'database', problem: /has no write-ahead log$/, command: 'mediagen migrate' }
  },
  'a ledger that was changed': () => {
    const { env, database } = copy()
    change(database, 'UPDATE ledger_entries SET credits = 1 + credits WHERE number = 1')
    return {
      env,
      check: 'ledger',
      problem: /^account acct_\w+, entry 1: /,
      command: 'mediagen admin ledger verify --repair-plan',
    }
  },
  'a file that is missing': () => {
    const { env, assets } = copy()
    rmSync(join(assets, picture))
    const command = `install -D -m 600 BACKUP/assets/${picture} ${join(assets, picture)}`
    return { env, check: 'files', problem: /^job_.*\.png of job_\w+: missing$/, command }
  },
  'a file that is cut short': () => {
    const { env, assets } = copy()
    truncateSync(join(assets, picture), 3)
    return {
      env,
      check: 'files',
      problem: /\.png of job_\w+: has 3 bytes, not \d+$/,
      command: /^install -D -m 600 BACKUP/,
    }
  },
  'a file with other content': () => {
    const { env, assets } = copy()
    const path = join(assets, picture)
    writeFileSync(path, Buffer.alloc(statSync(path).size))
    return {
      env,
      options: ['--files'],
      check: 'files',
      problem: /: has other content$/,
      command: /^install -D -m 600 BACKUP/,
    }
  },
  'a clock that went back': () => {
    const { env, database } = copy()
    change(database, 'UPDATE jobs SET created_at = created_at + 3600000')
    return {
      env,
      check: 'clock',
      problem: /^the newest job was started \d+ s in the future$/,
      command: 'timedatectl set-ntp true',
    }
  },
  'an FFmpeg that does not run': () => ({
    env: { ...copy().env, FFMPEG_PATH: '/bin/false' },
    check: 'programs',
    problem: /^\/bin\/false \(FFMPEG_PATH\) does not run$/,
    command: 'unset FFMPEG_PATH',
  }),
  'a catalog that is wrong': () => {
    const catalog = join(line.folder, 'wrong.yaml')
    writeFileSync(catalog, 'models: [{ id: x }]')
    return {
      env: { ...copy().env, MEDIAGEN_CATALOG: catalog },
      check: 'catalog',
      problem: /wrong\.yaml/,
      command: 'mediagen admin models check',
    }
  },
  'a provider without its key': () => ({
    env: { ...copy().env, MEDIAGEN_CATALOG: join(import.meta.dirname, '../../catalogs/fal.yaml') },
    options: ['--network'],
    check: 'providers',
    problem: /^fal: .*environment variable FAL_KEY/,
    command: 'export FAL_KEY=…',
  }),
}

/** What is found, without what this machine may have by itself. */
async function examine(env: Readonly<Record<string, string>>, options: readonly string[] = []) {
  const { status, stdout, stderr } = await line.run(['doctor', '--json', ...options], env)
  expect(stderr).toBe('')
  const found = JSON.parse(stdout) as { check: string; problem: string; command: string }[]
  expect(status).toBe(found.length > 0 ? 1 : 0)
  return found.filter(({ check }) => check !== 'disk')
}

test('an installation in order has no finding', async () => {
  expect(await examine(copy().env, ['--files'])).toEqual([])
})

test.for(Object.entries(faults))('%s', async ([, plant]) => {
  const { env, options, check, problem, command } = plant()
  const [first] = await examine(env, options)
  expect(first).toEqual({
    check,
    problem: expect.stringMatching(problem),
    command: typeof command === 'string' ? command : expect.stringMatching(command),
  })
  const { stdout } = await line.run(['doctor', ...(options ?? [])], env)
  const said = stdout.split('\n').find((text) => !text.startsWith('disk: '))
  const [what, mend] = (said ?? '').split(' → ')
  expect([what?.startsWith(`${check}: `), mend]).toEqual([true, first?.command])
})

test.skipIf(unbuilt !== '')(`a disk that does not flush${unbuilt}`, async () => {
  const { env } = copy()
  breakDisk('doctor-')
  const { stdout } = await line.spawn(['doctor', '--json'], { ...env, ...breakable })
  mendDisk()
  const flush = JSON.parse(stdout).find(({ check }: { check: string }) => check === 'flush')
  expect(flush).toMatchObject({ problem: expect.stringContaining('EIO'), command: 'dmesg --level=err,warn' })
})

test.skipIf(noMounts !== '')(`a disk with little room${noMounts}`, async () => {
  using folder = makeFolder()
  using _disk = mountDisk(folder.path, '24m')
  const { stdout } = await line.run(['doctor', '--json'], { MEDIAGEN_DATA_DIR: folder.path })
  expect(JSON.parse(stdout)).toContainEqual({
    check: 'disk',
    problem: expect.stringMatching(/ has only \d+ MiB left$/),
    command: 'mediagen admin assets sweep',
  })
})

test.skipIf(installedPrograms === null)('a pg_dump of another version than the server', async () => {
  await using server = await startPostgres()
  const url = await server.createDatabase()
  const env = { MEDIAGEN_DATABASE_URL: url, PATH: `${installedPrograms}:${process.env['PATH']}` }
  await line.run(['migrate'], env)
  expect(await examine(env)).toEqual([
    {
      check: 'programs',
      problem: expect.stringMatching(/^pg_dump of PostgreSQL \d+ is needed/),
      command: expect.stringMatching(/^apt-get install postgresql-client-\d+$/),
    },
  ])
})

test('status fits a screen and says what runs, what waits, and the command for what is wrong', async () => {
  await using one = openCommandLine({ MEDIAGEN_ROLES: 'api' })
  const before = await one.run(['status'])
  expect(before).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/There is no database .*\n +→ mediagen migrate\n/),
  })
  await one.run(['migrate'])
  const earliest = new Date().toISOString()
  const server = await one.serve()
  const { key } = await createTestAccount(one)
  const client = openClient(server.httpUrl, key)
  for (const prompt of ['a', 'b']) await client.generate(model, { prompt }, false)
  const status = await one.json(['status'])
  expect(status).toMatchObject({
    version: manifest.version,
    processes: [{ name: expect.stringMatching(/^worker_/), uptime_seconds: expect.any(Number) }],
    queued: [{ model, jobs: 2, oldest_seconds: expect.any(Number) }],
    running: 0,
  })
  expect(status.processes[0].started_at >= earliest).toBe(true)
  const elsewhere = await one.run(['status'], { MEDIAGEN_HTTP_PORT: '9' })
  expect(elsewhere.stdout).toContain('http://127.0.0.1:9 does not answer; has the server another port?')
  await server.stop('SIGKILL')
  const { stdout } = await one.run(['status'], { MEDIAGEN_CATALOG: testCatalog })
  expect(stdout).toMatch(/^waits +2 queued, 0 delayed, 0 running; 0 webhooks\n +2 of test\/instant/m)
  expect(stdout).toMatch(/^wrong +no server runs; 1 died and left its jobs\n +→ mediagen serve\n/m)
  expect(stdout.split('\n').filter((text) => text.length > 80)).toEqual([])
  expect(stdout.split('\n').length).toBeLessThan(25)
})
