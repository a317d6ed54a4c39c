// Runs the command line on a data directory that goes away with the test: most commands in this process, servers and what
// is about processes as the real bin/mediagen.js.
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { makeDatabase } from '../storage/sqlite-fixture.ts'
import { isPostgres, storeSettings } from '../test-store.ts'
import { type Ended, runMain } from './run-main.ts'

const root = join(import.meta.dirname, '../..')
// Most of a command's time is the loading of code.
const compileCache = join(root, 'node_modules/.cache/mediagen/compile')

/** The catalog of the tests. */
export const testCatalog = ['models.yaml', 'gate-program.yaml']
  .map((name) => join(import.meta.dirname, '../models', name))
  .join(':')

/** A server that runs. */
export interface Served {
  readonly httpUrl: string
  readonly grpcUrl: string | null
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

/** A data directory and commands on it. */
export interface CommandLine extends AsyncDisposable {
  readonly folder: string
  readonly dataDir: string
  /** Runs a command to its end, in this process. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>
  /** Runs a command to its end, in a process of its own; `node` is the Node that runs it. */
  spawn(args: readonly string[], env?: Readonly<Record<string, string>>, node?: string): Promise<Ended>
  /** Starts a command and leaves it running. */
  start(
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
    node?: string,
    stdio?: StdioOptions,
  ): Promise<ChildProcess>
  /** Runs a command with --json and parses what it printed; rejects when it fails. Where there is no database yet, there is one first. */
  json(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<any>
  /** Starts a server and waits until it says where it is. */
  serve(env?: Readonly<Record<string, string>>, args?: readonly string[]): Promise<Served>
}

/** Collects what a child says and how it ends. */
export function watchEnd(child: ChildProcess): Promise<Ended> {
  const said = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text))
  return once(child, 'close').then(([status]) => ({ status: status as number | null, ...said }))
}

/**
 * Opens a command line; whatever it started ends with the test.
 * @param checkout whose program the processes run
 * @param usualNode the Node that runs them
 */
export function openCommandLine(
  settings: Readonly<Record<string, string>> = {},
  checkout = root,
  usualNode = process.execPath,
): CommandLine {
  const program = join(checkout, 'bin/mediagen.js')
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-cli-'))
  const dataDir = join(folder, 'data')
  const children: ChildProcess[] = []
  const defaults = {
    PATH: process.env['PATH'] ?? '',
    NODE_COMPILE_CACHE: compileCache,
    MEDIAGEN_DATA_DIR: dataDir,
    MEDIAGEN_HTTP_PORT: '0',
    MEDIAGEN_GRPC_PORT: '0',
    MEDIAGEN_LOG_LEVEL: 'silent',
    MEDIAGEN_STOP_GRACE_SECONDS: '0',
    // However few cores there are, and however much else they do.
    MEDIAGEN_PLACES: '4',
    MEDIAGEN_MAX_QUEUE_MS: '60000',
    MEDIAGEN_CATALOG: testCatalog,
    ...settings,
  }

  async function environment(env: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
    const all: Record<string, string> = { ...defaults, ...env }
    return { ...(await storeSettings(all['MEDIAGEN_DATA_DIR'] ?? dataDir)), ...all }
  }

  async function start(
    args: readonly string[],
    env = {},
    node = usualNode,
    stdio: StdioOptions = ['ignore', 'pipe', 'pipe'],
  ): Promise<ChildProcess> {
    const child = spawn(node, [program, ...args], {
      cwd: folder,
      env: await environment(env),
      stdio,
    })
    children.push(child)
    return child
  }

  const run = async (args: readonly string[], env = {}): Promise<Ended> =>
    runMain({ args, cwd: folder, env: await environment(env) })

  async function serve(env = {}, args: readonly string[] = []): Promise<Served> {
    const child = await start(['serve', '--json', ...args], env)
    const ended = watchEnd(child)
    const line = new Promise<string>((resolve) => {
      const lines = createInterface({ input: child.stdout as Readable })
      lines.on('line', (text) => text.includes('"http_url"') && resolve(text))
    })
    const first = await Promise.race([line, ended])
    if (typeof first !== 'string') throw new Error(`the server ended: ${first.stderr}`)
    const { http_url, grpc_url } = JSON.parse(first)
    const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> => {
      child.kill(signal)
      return ended
    }
    return { httpUrl: http_url, grpcUrl: grpc_url, process: child, ended, stop }
  }

  return {
    folder,
    dataDir,
    start,
    run,
    spawn: async (args, env = {}, node = usualNode) => watchEnd(await start(args, env, node)),
    serve,
    async json(args, env) {
      const database = join(dataDir, 'mediagen.db')
      if (!isPostgres && settings['MEDIAGEN_DATABASE_URL'] === undefined && !existsSync(database)) {
        mkdirSync(dataDir, { mode: 0o711, recursive: true })
        await makeDatabase(database)
      }
      return JSON.parse(expectDone(await run([...args, '--json'], env)))
    },
    async [Symbol.asyncDispose]() {
      for (const child of children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
        const ended = once(child, 'exit')
        child.kill('SIGKILL')
        await ended
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What a command printed that must not fail. */
function expectDone({ status, stdout, stderr }: Ended): string {
  if (status !== 0) throw new Error(`the command ended with ${status}: ${stderr}`)
  return stdout
}

/** A client of a server that runs: quotes and starts as REST clients do. */
export function openClient(url: string, key: string) {
  const send = async (path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    // Tests look into answers at will.
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  async function generate(model: string, input: object, wait: boolean) {
    const { body } = await send('/v1/quotes', { model, input })
    const idempotency = { 'idempotency-key': crypto.randomUUID() }
    return send(`/v1/generate?wait=${wait}`, { model, input, quote_id: body.quote_id }, idempotency)
  }
  return { send, generate }
}

/** An account with credits and a key that may do everything but administer. */
export async function createTestAccount(line: CommandLine): Promise<{ accountId: string; keyId: string; key: string }> {
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'test', '--credits', '1000'])
  const permissions = 'generate,models:read,jobs:read,wallet:read'
  const made = await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions])
  return { accountId: account_id, keyId: made.key_id, key: made.key }
}
