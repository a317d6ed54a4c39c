// What `backup` and `restore` refuse, what a backup has, and who may read it. test/cli/restore-drill.long.test.ts does it under load.
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createBlobs } from '../../src/app/files.ts'
import { restore } from '../../src/app/operator/backup/restore.ts'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/storage/postgres/connection.ts'
import { installedPrograms, runSql, startInstalledPostgres } from '../storage/postgres-server.ts'
import { type CommandLine, createTestAccount, openClient, openCommandLine, type Served } from './command-line.ts'

const model = 'test/instant/text-to-image'
let line: CommandLine
let server: Served
let key: string
let whole: string
let made: Record<string, any>

beforeAll(async () => {
  line = openCommandLine()
  server = await line.serve()
  key = (await createTestAccount(line)).key
  for (const prompt of ['a', 'b']) await openClient(server.httpUrl, key).generate(model, { prompt }, true)
  whole = join(line.folder, 'whole')
  made = await line.json(['backup', whole])
})
afterAll(() => line[Symbol.asyncDispose]())

/** A copy of the backup, to be spoiled, and an installation that has nothing yet. */
function prepare(name: string) {
  const folder = join(line.folder, `backup-${name}`)
  cpSync(whole, folder, { recursive: true })
  const dataDir = join(line.folder, `new-${name}`)
  const restore = (...options: string[]) =>
    line.run(['restore', folder, '--json', ...options], { MEDIAGEN_DATA_DIR: dataDir })
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  return { folder, dataDir, restore, manifest }
}

/** The key of a picture below a folder. */
function findPicture(assets: string): string {
  return readdirSync(assets, { recursive: true, encoding: 'utf8' }).find((name) => name.endsWith('.png')) ?? ''
}

function measureText(text: string): { bytes: number; sha256: string } {
  return { bytes: Buffer.byteLength(text), sha256: createHash('sha256').update(text).digest('hex') }
}

/** Nothing was restored, and this is why. */
async function expectRefused({ restore, dataDir }: ReturnType<typeof prepare>, words: RegExp): Promise<void> {
  const { status, stdout, stderr } = await restore()
  expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(words) })
  expect(existsSync(join(dataDir, 'mediagen.db'))).toBe(false)
}

test('a backup has the database and the files, for its owner alone', async () => {
  expect(made).toMatchObject({ database: 'sqlite', accounts: 1, files_copied: made['files'] })
  expect(made['files']).toBeGreaterThanOrEqual(2)
  expect(await line.json(['ledger', 'verify'])).toMatchObject({ root: made['ledger_root'] })
  expect(statSync(whole).mode & 0o777).toBe(0o700)
  for (const name of readdirSync(whole, { recursive: true, encoding: 'utf8' })) {
    const stats = statSync(join(whole, name))
    if (stats.isFile()) expect([name, stats.mode & 0o777]).toEqual([name, 0o600])
  }
  expect(readdirSync(whole).toSorted()).toEqual([
    'assets',
    'backup.lock',
    expect.stringMatching(/^database-.*\.db$/),
    expect.stringMatching(/^files-.*\.jsonl$/),
    'manifest.json',
  ])
})

test('the next backup copies only what is new, and forgets what is gone', async () => {
  const folder = join(line.folder, 'again')
  const first = await line.json(['backup', folder])
  const { body } = await openClient(server.httpUrl, key).generate(model, { prompt: 'c' }, true)
  const second = await line.json(['backup', folder])
  expect(second.files_copied).toBe(second.files - first.files)
  await fetch(`${server.httpUrl}/v1/jobs/${body.job_id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  })
  expect(await line.json(['backup', folder])).toMatchObject({ files: first.files, files_copied: 0 })
  expect(existsSync(join(folder, 'assets', body.job_id))).toBe(false)
})

test('a whole backup is checked without being restored, then restored, and the result is printed', async () => {
  const prepared = prepare('whole')
  const checked = await prepared.restore('--check')
  expect(JSON.parse(checked.stdout)).toMatchObject({ files: made['files'], whole: true })
  expect(existsSync(prepared.dataDir)).toBe(false)
  const { status, stdout } = await prepared.restore()
  expect({ status, ...JSON.parse(stdout) }).toMatchObject({
    status: 0,
    backup_of: made['created_at'],
    ledger_root: made['ledger_root'],
    ledger_is_same: true,
    files: made['files'],
    jobs: 2,
    problems: [],
  })
})

test('a running installation, a database and other files are not overwritten', async () => {
  const before = readFileSync(join(line.dataDir, 'mediagen.db'))
  expect(await line.run(['restore', whole])).toMatchObject({
    status: 1,
    stderr: 'mediagen: A server works on this installation; stop all of its servers first.\n',
  })
  expect(readFileSync(join(line.dataDir, 'mediagen.db')).equals(before)).toBe(true)

  const prepared = prepare('full')
  mkdirSync(join(prepared.dataDir, 'assets/other'), { recursive: true })
  writeFileSync(join(prepared.dataDir, 'assets/other/0.png'), 'x')
  await expectRefused(prepared, /There are other files already, such as other\/0\.png/)
  writeFileSync(join(prepared.dataDir, 'mediagen.db'), '')
  expect((await prepared.restore()).stderr).toMatch(/There is a database .* already/)
  expect(statSync(join(prepared.dataDir, 'mediagen.db')).size).toBe(0)
})

test('a restore that was interrupted may be repeated', async () => {
  const prepared = prepare('begun')
  cpSync(join(prepared.folder, 'assets'), join(prepared.dataDir, 'assets'), { recursive: true })
  expect((await prepared.restore()).status).toBe(0)
})

test('another schema is named', async () => {
  const prepared = prepare('schema')
  const manifest = { ...prepared.manifest, migration: '9999-later', mediagen: '7.0.0' }
  writeFileSync(join(prepared.folder, 'manifest.json'), JSON.stringify(manifest))
  await expectRefused(prepared, /has the schema 9999-later of mediagen 7\.0\.0, and this version has \d{4}-/)
  writeFileSync(join(prepared.folder, 'manifest.json'), JSON.stringify({ ...manifest, format: 2 }))
  await expectRefused(prepared, /in a format that this version does not know/)
})

test('what was cut short, is damaged or is no backup is refused before anything is written', async () => {
  const cut = prepare('cut')
  rmSync(join(cut.folder, 'manifest.json'))
  await expectRefused(cut, /was cut short: it has no manifest\.json/)

  const database = prepare('database')
  appendFileSync(join(database.folder, database.manifest.database.name), 'x')
  await expectRefused(database, /damaged: .*\.db is not what was backed up/)

  const list = prepare('list')
  rmSync(join(list.folder, list.manifest.files.list.name))
  await expectRefused(list, /damaged: .*\.jsonl is missing/)

  const file = prepare('file')
  const assets = join(file.folder, 'assets')
  const picture = findPicture(assets)
  const content = readFileSync(join(assets, picture))
  content[content.length - 1] = (content.at(-1) ?? 0) ^ 1
  writeFileSync(join(assets, picture), content)
  await expectRefused(file, /damaged: .*\.png is not what was backed up/)
  expect(existsSync(file.dataDir)).toBe(false)

  const none = prepare('none')
  rmSync(none.folder, { recursive: true })
  await expectRefused(none, /There is no backup in/)
})

test('names that no backup has are refused in words, whatever they lead to', async () => {
  const prepared = prepare('forged')
  const { folder, manifest } = prepared
  const write = (more: object | null) =>
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify(more && { ...manifest, ...more }))
  for (const more of [
    null,
    { database: null },
    { database: { ...manifest.database, name: '../whole/manifest.json' } },
  ]) {
    write(more)
    await expectRefused(prepared, /^mediagen: The backup in .* is damaged: manifest\.json is not one of a backup\.\n$/)
  }
  for (const list of ['no JSON', 'null', '{"key":"../manifest.json","bytes":1,"sha256":""}']) {
    writeFileSync(join(folder, manifest.files.list.name), list)
    write({ files: { ...manifest.files, list: { name: manifest.files.list.name, ...measureText(list) } } })
    await expectRefused(prepared, /^mediagen: The backup in .* has a line that names no file of a backup\.\n$/)
  }
})

test('a folder with a symbolic link in it, which others may have put there, is left alone', async () => {
  for (const name of ['manifest.json.part', 'assets', 'backup.lock']) {
    const folder = join(line.folder, `linked-${name}`)
    const target = join(line.folder, `target-${name}`)
    mkdirSync(folder)
    mkdirSync(target)
    writeFileSync(join(folder, 'backup.lock'), '')
    rmSync(join(folder, name), { force: true })
    symlinkSync(target, join(folder, name))
    const { status, stderr } = await line.run(['backup', folder])
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/ has a symbolic link, /) })
    expect(readdirSync(target)).toEqual([])
  }
})

test('a folder with something else in it is left alone, and so is one where another backup works', async () => {
  const other = join(line.folder, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'letter.txt'), 'dear')
  expect((await line.run(['backup', other])).stderr).toMatch(/has something else in it/)
  expect(readdirSync(other)).toEqual(['letter.txt'])
  const together = await Promise.all([1, 2].map(() => line.spawn(['backup', join(line.folder, 'two')])))
  for (const { status, stderr } of together) if (status !== 0) expect(stderr).toMatch(/Another backup works/)
  expect((await line.run(['restore', join(line.folder, 'two'), '--check'])).status).toBe(0)
})

test('what the installation has lost is named, and the rest is backed up', async () => {
  const { folder, dataDir, restore } = prepare('lost')
  await restore()
  const picture = findPicture(join(dataDir, 'assets'))
  rmSync(join(dataDir, 'assets', picture))
  rmSync(folder, { recursive: true })
  const { status, stdout } = await line.run(['backup', folder, '--json'], { MEDIAGEN_DATA_DIR: dataDir })
  expect({ status, ...JSON.parse(stdout) }).toMatchObject({
    status: 1,
    files_missing: [picture],
    files: made['files'] - 1,
  })
  expect((await line.run(['restore', folder, '--check'])).status).toBe(0)
})

describe('P373: a restore that is cut short before its jobs are in review leaves nothing that a server starts on', () => {
  const cut = 'cut short'
  const cutShort = async (folder: string, env: Readonly<Record<string, string>>) => {
    const config = readConfig(env)
    const order = { folder, to: config, files: createBlobs(config), bucket: null }
    await expect(restore(order, () => Promise.reject(new Error(cut)))).rejects.toThrow(cut)
  }

  test('an SQLite file has no name until then', async () => {
    const prepared = prepare('cut-short')
    await cutShort(prepared.folder, { MEDIAGEN_DATA_DIR: prepared.dataDir })
    expect(existsSync(join(prepared.dataDir, 'mediagen.db'))).toBe(false)
    for (const command of [['serve'], ['migrate'], ['admin', 'accounts', 'list']])
      expect(await line.run(command, { MEDIAGEN_DATA_DIR: prepared.dataDir })).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/ is being restored .*: run `mediagen restore` to its end\.\n$/),
      })
    expect(await prepared.restore()).toMatchObject({ status: 0 })
    expect(existsSync(join(prepared.dataDir, 'restoring'))).toBe(false)
  })

  test('only one process restores into an SQLite installation', async () => {
    const prepared = prepare('twice')
    const config = readConfig({ MEDIAGEN_DATA_DIR: prepared.dataDir })
    const order = { folder: prepared.folder, to: config, files: createBlobs(config), bucket: null }
    const both = restore(order, async () => prepared.restore())
    await expect(both.then(({ prepared: second }) => second)).resolves.toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Another process restores into'),
    })
  })

  test.skipIf(installedPrograms === null)('a PostgreSQL is marked, and the same command goes on', async () => {
    await using server = await startInstalledPostgres(installedPrograms ?? '')
    const [from, to, full] = await Promise.all([1, 2, 3].map(() => server.createDatabase()))
    const path = `${installedPrograms}:${process.env['PATH']}`
    await using there = openCommandLine({ PATH: path, MEDIAGEN_DATABASE_URL: to as string })
    const atFirst = { MEDIAGEN_DATABASE_URL: from as string, MEDIAGEN_DATA_DIR: join(there.folder, 'first') }
    await there.run(['migrate'], atFirst)
    await there.json(['admin', 'accounts', 'create', '--name', 'team'], atFirst)
    const folder = join(there.folder, 'backup')
    const { ledger_root } = await there.json(['backup', folder], atFirst)

    const served = new Client({ connectionString: to as string, application_name: 'mediagen' })
    await served.connect()
    expect((await there.run(['restore', folder])).stderr).toMatch(/A server is connected to .*stop all of its servers/)
    await served.end()

    const before = process.env['PATH']
    process.env['PATH'] = path
    await cutShort(folder, { MEDIAGEN_DATABASE_URL: to as string, MEDIAGEN_DATA_DIR: there.dataDir })
    process.env['PATH'] = before
    expect(await runSql(to as string, 'SELECT 1 FROM accounts')).toHaveLength(1)
    // Of a server that was there before.
    const late = openDatabase(to as string, 1, () => null)
    await expect(late.rows('SELECT 1')).rejects.toThrow('is being restored')
    await late.close()
    for (const command of [
      ['serve'],
      ['migrate'],
      ['admin', 'accounts', 'list'],
      ['backup', join(there.folder, 'b')],
    ]) {
      const { status, stderr } = await there.run(command, { MEDIAGEN_MIGRATE: 'true' })
      expect([command[0], status, stderr]).toEqual([
        command[0],
        1,
        expect.stringMatching(
          /^mediagen: The database .* is being restored .*: run `mediagen restore` to its end\.\n$/,
        ),
      ])
    }
    // What an attempt has left goes; what is of something else does not.
    const restored = await there.run(['restore', folder, '--json'])
    expect({ ...restored, ...JSON.parse(restored.stdout) }).toMatchObject({ status: 0, ledger_root, accounts: 1 })
    await (await there.serve()).stop()
    expect((await there.run(['restore', folder])).stderr).toMatch(/is not empty/)
    await runSql(full as string, 'CREATE TABLE letters ()')
    expect((await there.run(['restore', folder], { MEDIAGEN_DATABASE_URL: full as string })).stderr).toMatch(
      /is not empty/,
    )
  })
})
