// A rolling upgrade: servers of the next version beside those of this one, on one database, while clients start jobs.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCommandLine, type Served } from '../cli/command-line.ts'
import { hasPostgres, type PostgresServer, runSql, startPostgres } from '../storage/postgres-server.ts'
import { startFleet } from './fleet.ts'
import { startLoad } from './load.ts'

const root = join(import.meta.dirname, '../..')
const migrations = 'src/storage/postgres/migrations'
const notCopied = new Set(['node_modules', 'test', 'gallery'])

/** Makes a next version of this program: a copy with one more migration, and another number. */
function makeNext(folder: string, name: string, migration: string): string {
  const checkout = join(folder, name)
  for (const part of ['bin', 'src', 'packages', 'gen', 'proto', 'web', 'catalogs'])
    cpSync(join(root, part), join(checkout, part), {
      recursive: true,
      filter: (path) => !notCopied.has(basename(path)),
    })
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(checkout, 'package.json'), JSON.stringify({ ...manifest, version: '0.2.0' }))
  writeFileSync(join(checkout, migrations, '9000-next.sql'), migration)
  const modules = join(checkout, 'node_modules')
  mkdirSync(join(modules, '@mediagen'), { recursive: true })
  for (const one of readdirSync(join(root, 'node_modules')))
    if (one !== '@mediagen' && !one.startsWith('.')) symlinkSync(join(root, 'node_modules', one), join(modules, one))
  for (const one of readdirSync(join(checkout, 'packages')))
    symlinkSync(join(checkout, 'packages', one), join(modules, '@mediagen', one))
  return checkout
}

const compatible = `-- Compatible: older programs leave the column and the table alone.
ALTER TABLE accounts ADD COLUMN motto TEXT NOT NULL DEFAULT 'ever onward';
CREATE TABLE mottos (motto TEXT NOT NULL PRIMARY KEY);
`
const breaking = 'ALTER TABLE accounts ADD COLUMN motto TEXT;\n'

describe.skipIf(!hasPostgres)('a rolling upgrade', () => {
  let server: PostgresServer
  let folder: string
  beforeAll(async () => {
    server = await startPostgres()
    folder = mkdtempSync(join(tmpdir(), 'mediagen-next-'))
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('old and new servers work side by side until the last old one is gone: nothing is lost or doubled', async () => {
    const url = await server.createDatabase()
    const settings = { MEDIAGEN_DATABASE_URL: url }
    await using fleet = await startFleet(settings)
    const { line, apis, workers, models } = fleet
    await using next = openCommandLine(
      { ...settings, MEDIAGEN_DATA_DIR: line.dataDir },
      makeNext(folder, 'next', compatible),
    )
    // Whoever starts a job or asks for it may meet either version.
    const doors = apis.map(({ httpUrl }) => httpUrl)
    const load = await startLoad({ line, doors, models, clients: 4, paceMs: 50 })
    await load.more(100)
    expect((await next.spawn(['--version'])).stdout).toBe('0.2.0\n')
    const early = await next.spawn(['serve'])
    expect([early.status, early.stderr]).toEqual([
      1,
      expect.stringMatching(
        /older version of mediagen \(migration 9000-next is missing\): run `mediagen migrate`\.\n$/,
      ),
    ])
    expect(await next.spawn(['migrate'])).toMatchObject({ status: 0 })
    expect(await runSql(url, 'SELECT DISTINCT motto FROM accounts')).toEqual([{ motto: 'ever onward' }])
    await load.more(100)

    // An old one that dies now, and comes back as an old one.
    const [oldApi, otherApi] = apis as [Served, Served]
    const [oldWorker, otherWorker] = workers as [Served, Served]
    oldWorker.process.kill('SIGKILL')
    await oldWorker.ended
    const again = await fleet.serve('worker')
    await load.more(50)

    // One by one.
    const newApi = await fleet.serve('api', {}, next)
    doors.push(newApi.httpUrl)
    await load.more(100)
    const newWorker = await fleet.serve('worker', {}, next)
    for (const old of [again, otherWorker]) expect(await old.stop()).toMatchObject({ status: 0 })
    await load.more(100)
    // An old door and new workers, then a new door alone.
    for (const old of [oldApi, otherApi]) {
      doors.splice(doors.indexOf(old.httpUrl), 1)
      expect(await old.stop()).toMatchObject({ status: 0 })
    }
    await load.more(100)
    console.table([{ goesOn: await load.goesOn(), ...(await load.check()) }])
    expect([newApi, newWorker].map(({ process }) => process.exitCode)).toEqual([null, null])
  })

  test('a version that old servers cannot work beside waits for their end, and they refuse what it made', async () => {
    const settings = { MEDIAGEN_DATABASE_URL: await server.createDatabase() }
    await using fleet = await startFleet(settings)
    const { line } = fleet
    await using next = openCommandLine(settings, makeNext(folder, 'breaking', breaking))
    const sentence = async (of: typeof line, ...args: string[]) => {
      const { status, stdout, stderr } = await of.spawn(args)
      expect([status, stdout, stderr.split('\n').length]).toEqual([1, '', 2])
      return stderr
    }
    expect(await sentence(next, 'migrate')).toMatch(
      /is in use, and servers of an older version cannot work with migration 9000-next/,
    )
    for (const one of [...fleet.apis, ...fleet.workers]) await one.stop()
    expect(await next.spawn(['migrate'])).toMatchObject({ status: 0 })
    for (const command of [['serve'], ['migrate'], ['admin', 'accounts', 'list']])
      expect(await sentence(line, ...command)).toMatch(
        /made by a newer version of mediagen \(migration 9000-next is unknown here\)/,
      )
  })
})
