// PgBouncer in front of a PostgreSQL of the tests, as a pooler of transactions.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { runSql } from './postgres-server.ts'

/** Why there is no PgBouncer, as the end of a test's name; empty when there is. */
export const whyNoPgBouncer =
  spawnSync('pgbouncer', ['--version']).status === 0 ? '' : ' (SKIPPED: there is no program pgbouncer)'

/** A pooler that runs. */
export interface Pooler extends AsyncDisposable {
  /** The URL of a database of its server through it. */
  through(database: string): string
}

/** Starts one. @param server the URL of a server that listens on a Unix socket */
export async function startPgBouncer(server: string): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-pgbouncer-'))
  chmodSync(folder, 0o755)
  const port = await findPort()
  const socket = decodeURIComponent(/host=([^&]+)/.exec(server)?.[1] ?? '')
  writeFileSync(join(folder, 'users.txt'), '"test" ""\n')
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(folder, 'users.txt'),
    pool_mode: 'transaction',
    // Fewer than any process has, so that sessions change hands.
    default_pool_size: 5,
    max_client_conn: 500,
    // How long it does not try to reach a server that was away; 15 s unless set.
    server_login_retry: 1,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, ['[databases]', `* = host=${socket} port=5432`, '[pgbouncer]', ...lines, ''].join('\n'))
  // It does not run as root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const child: ChildProcess = spawn('pgbouncer', ['--quiet', file], { ...user, stdio: 'ignore' })
  const through = (database: string): string => database.replace(/@\/(\w+)\?.*$/, `@127.0.0.1:${port}/$1`)
  while (
    !(await runSql(through(server), 'SELECT 1').then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`)
    await setTimeout(20)
  }
  return {
    through,
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function findPort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as { port: number }
  listener.close()
  return port
}
