// Only serve, demo and migrate create or migrate a database. Every other command says what to do, and changes nothing.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { createProgram } from '../../src/main.ts'
import { loadMigrations } from '../../src/storage/sqlite/migrate.ts'
import { openCommandLine } from './command-line.ts'
import { listCommands } from './commands.ts'

// What a command needs beside its name to get as far as the database.
const workflow = join(import.meta.dirname, '../engines/remote/workflow.json')
const needed: Readonly<Record<string, readonly string[]>> = {
  'admin accounts create': ['--name', 'x'],
  'admin accounts rename': ['acct_x', '--name', 'x'],
  'admin accounts freeze': ['acct_x', '--reason', 'x'],
  'admin accounts unfreeze': ['acct_x'],
  'admin accounts close': ['acct_x', '--reason', 'x'],
  'admin keys create': ['--account', 'acct_x', '--permissions', 'admin'],
  'admin accounts limit': ['acct_x', '--daily', '1'],
  'admin keys limit': ['key_x', '--daily', '1'],
  'admin keys revoke': ['key_x'],
  'admin sessions revoke': ['sess_x'],
  'admin sessions readmit': ['key_x'],
  'admin sessions end': ['key_x'],
  'admin credits grant': ['--account', 'acct_x', '--credits', '1'],
  'admin credits adjust': ['--account', 'acct_x', '--credits', '1', '--note', 'x'],
  'admin jobs show': ['job_x'],
  'admin jobs resolve': ['job_x', '--release'],
  move: ['--to-database', '/dev/null/nowhere'],
  backup: ['/dev/null/nowhere'],
  'admin models import': ['comfyui', workflow, '--provider', 'studio'],
  'admin webhooks redeliver': ['whd_x'],
}
// `doctor` says that there is none as its finding.
const creating = new Set(['serve', 'demo', 'migrate', 'restore', 'doctor'])
const withoutDatabase = new Set([
  'status',
  'admin models list',
  'admin models check',
  'admin models import',
  'admin providers check',
])
// They talk to a server, to nobody, or to a server of their own.
const ofUsers = new Set([
  'admin providers try',
  'generate',
  'again',
  'watch',
  'bundle',
  'show',
  'cancel',
  'delete',
  'models show',
  'login',
  'logout',
  'logs',
  'whoami',
  'config',
  'open',
  'quote',
  'files list',
  'files delete',
  'wallet',
  'conformance',
  'usage',
  'upload',
  'webhooks create',
  'webhooks listen',
  'webhooks rotate-secret',
  'mcp',
  'completion',
])
const commands = listCommands(await createProgram())
  .filter(({ name, command }) => command.commands.length === 0 && !creating.has(name) && !ofUsers.has(name))
  .map(({ name }) => name)
const operating = commands.filter((name) => !withoutDatabase.has(name))
const toArgs = (name: string): string[] => [...name.split(' '), ...(needed[name] ?? [])]

test.for(commands)('%s creates no data directory', async (name) => {
  await using line = openCommandLine()
  const { status, stdout, stderr } = await line.run(toArgs(name), { MEDIAGEN_DATA_DIR: join(line.folder, 'dtaa') })
  expect(readdirSync(line.folder)).toEqual([])
  if (withoutDatabase.has(name)) {
    expect(status).toBe(0)
    return
  }
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toBe(
    `mediagen: There is no database ${join(line.folder, 'dtaa', 'mediagen.db')}. Set MEDIAGEN_DATA_DIR if it is in another folder; \`mediagen migrate\` creates a new one, and so does the first \`mediagen serve\`.\n`,
  )
})

test('a database without tables is none yet', async () => {
  await using line = openCommandLine()
  mkdirSync(line.dataDir)
  const file = join(line.dataDir, 'mediagen.db')
  writeFileSync(file, '')
  expect(await line.run(['admin', 'jobs', 'list'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('no database'),
  })
  expect(readdirSync(line.dataDir)).toEqual(['mediagen.db'])
  expect(readFileSync(file)).toHaveLength(0)
})

/** Makes the database one of an older version, which lacked the last migration. */
function forgetLastMigration(file: string): Buffer {
  const db = new Database(file)
  db.exec('DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)')
  db.close()
  return readFileSync(file)
}

test('operating commands leave an older database as it is', async () => {
  await using line = openCommandLine()
  await line.run(['migrate'])
  const file = join(line.dataDir, 'mediagen.db')
  const before = forgetLastMigration(file)
  for (const name of operating) {
    const { status, stdout, stderr } = await line.run(toArgs(name))
    expect({ status, stdout }, `${name}: ${stderr}`).toEqual({ status: 1, stdout: '' })
    expect(stderr, name).toContain('older version of mediagen')
    expect(stderr, name).toContain('mediagen migrate')
    expect(stderr, name).toContain(loadMigrations().at(-1)?.name)
    expect(readFileSync(file).equals(before), name).toBe(true)
    expect(readdirSync(line.dataDir), name).toEqual(['mediagen.db'])
  }
})

test('migrate creates a database, says where, and may be repeated; then accounts can be created before any server ran', async () => {
  await using line = openCommandLine()
  const database = join(line.dataDir, 'mediagen.db')
  expect(JSON.parse((await line.run(['migrate', '--json'])).stdout)).toEqual({ database })
  expect(existsSync(database)).toBe(true)
  const { stdout } = await line.run(['admin', 'accounts', 'create', '--name', 'early'])
  expect(stdout).toContain('early')
  expect(await line.run(['migrate'])).toMatchObject({ status: 0, stdout: `database  ${database}\n` })
  expect((await line.run(['admin', 'accounts', 'list'])).stdout).toContain('early')
})
