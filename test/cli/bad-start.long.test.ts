// Starts that cannot succeed: each ends at once with one clear sentence on standard error and exit status 1, and leaves data as it was.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { type CommandLine, openCommandLine } from './command-line.ts'
import type { Ended } from './run-main.ts'

/** Holds that a start ended with one sentence, and that the sentence says `words`. */
function expectSentence({ status, stdout, stderr }: Ended, ...words: readonly (RegExp | string)[]): void {
  expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/^mediagen: [^\n]+\.( \(SQLITE_\w+\))?\n$/)
  for (const word of words) expect(stderr).toMatch(word)
}

const database = (line: CommandLine): string => join(line.dataDir, 'mediagen.db')

/** A port that is taken. */
async function takePort() {
  const server = net.createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const port = String((server.address() as net.AddressInfo).port)
  return { port, [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

test.for([
  ['HTTP', 'MEDIAGEN_HTTP_PORT'],
  ['gRPC', 'MEDIAGEN_GRPC_PORT'],
] as const)('the %s port is in use', async ([name, setting]) => {
  await using line = openCommandLine()
  await using taken = await takePort()
  expectSentence(await line.spawn(['serve'], { [setting]: taken.port }), 'in use', setting)
  expect(existsSync(line.dataDir), 'nothing is made').toBe(false)
  const account = await line.json(['admin', 'accounts', 'create', '--name', 'kept', '--credits', '5'])
  expectSentence(
    await line.spawn(['serve'], { [setting]: taken.port }),
    new RegExp(`The ${name} port ${taken.port}`),
    'in use',
    setting,
  )
  expect(await line.json(['admin', 'accounts', 'list'])).toEqual([account])
})

test.for(['203.0.113.7', 'no-such-host.invalid'])(
  'the address %s is not one of this machine: MEDIAGEN_HOST is named',
  async (host) => {
    await using line = openCommandLine()
    const refused = await line.spawn(['serve'], { MEDIAGEN_HOST: host })
    expectSentence(refused, host, 'MEDIAGEN_HOST')
    expect(refused.stderr).not.toContain('MEDIAGEN_HTTP_PORT')
  },
)

test('the catalog is broken: file, model and field are named, all that is wrong, and no data directory is made', async () => {
  await using line = openCommandLine()
  const file = join(line.folder, 'broken.yaml')
  const models = readFileSync(join(import.meta.dirname, '../models/models.yaml'), 'utf8')
  writeFileSync(
    file,
    models.replace('1 + ceil(width / 1000)', '1 + ceil(wdth / 1000)').replace('credits: 7', 'credits: many'),
  )
  const refused = await line.spawn(['serve'], { MEDIAGEN_CATALOG: file })
  const [first, ...problems] = refused.stderr.trimEnd().split('\n')
  expect([refused.status, refused.stdout, first]).toEqual([1, '', 'mediagen: The catalog is invalid:'])
  expect(problems).toEqual([
    expect.stringMatching(/^  .*broken\.yaml: model "test\/instant\/text-to-image": price.* "?wdth/),
    expect.stringMatching(/^  .*broken\.yaml: model "test\/failing\/text-to-image": price/),
  ])
  expect(existsSync(line.dataDir)).toBe(false)
  expect(await line.run(['admin', 'models', 'check', file])).toEqual(refused)
})

test.for([
  ['is not YAML', 'models: [', /is not YAML/],
  ['has no list of models', 'model: 1', /models must be a list/],
] as const)('the catalog %s', async ([, text, words]) => {
  await using line = openCommandLine()
  const file = join(line.folder, 'broken.yaml')
  writeFileSync(file, text)
  expectSentence(await line.spawn(['serve'], { MEDIAGEN_CATALOG: file }), file, words)
})

test('a catalog file is missing', async () => {
  await using line = openCommandLine()
  expectSentence(await line.spawn(['serve'], { MEDIAGEN_CATALOG: '/no/such.yaml' }), '/no/such.yaml', /cannot be read/)
})

test('settings are wrong: all of them are listed', async () => {
  await using line = openCommandLine()
  const wrong = {
    MEDIAGEN_HTTP_PORT: '99999',
    MEDIAGEN_GRPC_PORT: 'nine',
    MEDIAGEN_QUOTE_TTL_SECONDS: '601',
    MEDIAGEN_ROLES: 'api,king',
    MEDIAGEN_PUBLIC_URL: 'ftp://here',
    MEDIAGEN_CORE_URL: 'nowhere',
    MEDIAGEN_RATE_LIMIT: '-1',
    MEDIAGEN_MAX_QUEUED_JOBS: '0',
    MEDIAGEN_LOG_LEVEL: 'loud',
  }
  expectSentence(
    await line.spawn(['serve'], wrong),
    ...Object.keys(wrong),
    '"99999"',
    '"api,king"',
    '0 to 65535',
    '1 to 600',
  )
  expect(existsSync(line.dataDir)).toBe(false)
})

test('the data directory is a file, or lies below one', async () => {
  await using line = openCommandLine()
  writeFileSync(line.dataDir, 'precious')
  expectSentence(await line.spawn(['serve']), line.dataDir, 'MEDIAGEN_DATA_DIR')
  expectSentence(await line.spawn(['serve'], { MEDIAGEN_DATA_DIR: join(line.dataDir, 'below') }), 'MEDIAGEN_DATA_DIR')
  expectSentence(await line.run(['admin', 'accounts', 'list']), line.dataDir)
  expect(readFileSync(line.dataDir, 'utf8')).toBe('precious')
})

test('the data directory is in a place where nothing can be made', async () => {
  await using line = openCommandLine()
  expectSentence(
    await line.spawn(['serve'], { MEDIAGEN_DATA_DIR: '/proc/mediagen' }),
    '/proc/mediagen',
    'MEDIAGEN_DATA_DIR',
  )
})

test('the database is a file of another kind', async () => {
  await using line = openCommandLine()
  mkdirSync(line.dataDir)
  const text = 'these are my notes, not a database. '.repeat(100)
  writeFileSync(database(line), text)
  expectSentence(await line.spawn(['serve']), database(line), 'not a database')
  expectSentence(await line.run(['admin', 'ledger', 'verify']), 'not a database')
  expect(readFileSync(database(line), 'utf8')).toBe(text)
  expect(readdirSync(line.dataDir)).toEqual(['mediagen.db'])
})

test('the database belongs to another program', async () => {
  await using line = openCommandLine()
  mkdirSync(line.dataDir)
  const other = new Database(database(line))
  other.exec("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('bread')")
  other.close()
  const before = readFileSync(database(line))
  expectSentence(await line.spawn(['serve']), database(line), 'another program')
  expect(readFileSync(database(line)).equals(before)).toBe(true)
})

test('the database was made by a newer version', async () => {
  await using line = openCommandLine()
  await line.json(['admin', 'accounts', 'create', '--name', 'kept'])
  const db = new Database(database(line))
  db.exec("INSERT INTO migrations VALUES (9999, '9999-from-the-future', 'x', 1, 0)")
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  const before = readFileSync(database(line))
  expectSentence(await line.spawn(['serve']), database(line), 'newer version', '9999-from-the-future')
  expectSentence(await line.run(['admin', 'accounts', 'list']), 'newer version')
  expect(readFileSync(database(line)).equals(before)).toBe(true)
})

const runInShell = (command: string): Buffer => execFileSync('sh', ['-c', command], { stdio: 'pipe' })

/** Mounts a small memory disk at `folder`; undone by `using`. */
function mountDisk(folder: string, size: string) {
  mkdirSync(folder, { recursive: true })
  runInShell(`mount -t tmpfs -o size=${size} tmpfs '${folder}'`)
  return { [Symbol.dispose]: () => runInShell(`umount -l '${folder}'`) }
}

function whyNoMounts(): string {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'mediagen-mount-'))
    mountDisk(folder, '64k')[Symbol.dispose]()
    rmSync(folder, { recursive: true })
    return ''
  } catch (error) {
    return ` (SKIPPED: this user cannot mount: ${(error as Error).message.split('\n')[0]})`
  }
}
const noMounts = whyNoMounts()

test.skipIf(noMounts !== '')(`the data directory is read-only${noMounts}`, async () => {
  await using line = openCommandLine()
  using _disk = mountDisk(line.dataDir, '16m')
  const account = await line.json(['admin', 'accounts', 'create', '--name', 'kept', '--credits', '7'])
  runInShell(`mount -o remount,ro '${line.dataDir}'`)
  expectSentence(await line.spawn(['serve']), line.dataDir, /cannot be written|read-only/)
  expectSentence(
    await line.spawn(['serve'], { MEDIAGEN_DATA_DIR: join(line.dataDir, 'new') }),
    /read-only/,
    'MEDIAGEN_DATA_DIR',
  )
  runInShell(`mount -o remount,rw '${line.dataDir}'`)
  expect(await line.json(['admin', 'accounts', 'list'])).toEqual([account])
})

test.skipIf(noMounts !== '')(`the disk is full${noMounts}`, async () => {
  await using line = openCommandLine()
  using _disk = mountDisk(line.dataDir, '16m')
  const account = await line.json(['admin', 'accounts', 'create', '--name', 'kept', '--credits', '7'])
  const filler = join(line.dataDir, 'filler')
  runInShell(`head -c 32m /dev/zero > '${filler}' 2>/dev/null || true`)
  expectSentence(await line.spawn(['serve']), line.dataDir, /full|space/)
  rmSync(filler)
  expect(await line.json(['admin', 'accounts', 'list'])).toEqual([account])
})

test.skipIf(noMounts !== '')(`a new database does not fit on the disk${noMounts}`, async () => {
  await using line = openCommandLine()
  using _disk = mountDisk(line.dataDir, '64k')
  expectSentence(await line.spawn(['serve']), line.dataDir, /full|space/)
})
