// Servers under measurement: mediagen itself and the baselines, each a child process on the core for servers.
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Cores } from './cores.ts'
import { readFamilyCpuSeconds } from './process-cpu.ts'

const startTimeoutMs = 60_000
const stopTimeoutMs = 5000
// Free ports, and no limit that would be measured instead.
const free = {
  MEDIAGEN_HTTP_PORT: '0',
  MEDIAGEN_GRPC_PORT: '0',
  MEDIAGEN_RATE_LIMIT: '0',
  MEDIAGEN_BYTE_RATE: '0',
}

/** A server that runs. */
export interface Server extends AsyncDisposable {
  readonly httpUrl: string
  /** `host:port`; empty for a server without gRPC. */
  readonly grpcAddress: string
  /** From spawning to the line that tells the address. */
  readonly startMs: number
  /** Processor seconds used so far by all its threads and child processes; NaN where the system does not tell. */
  cpuSeconds(): number
  /** Resident now, in bytes; NaN where the system does not tell. */
  residentBytes(): number
  signal(name: NodeJS.Signals): void
}

/** A core, or several as `taskset` takes them, for a server. */
export interface Where {
  readonly server: number | string
}

/** What is done to a server to look into it. */
export interface Insight {
  /** Flags of its Node. */
  readonly flags?: readonly string[]
  /** Modules that it loads before all others. */
  readonly preload?: readonly string[]
  /** Is given every line that it prints. */
  readonly onLine: (line: string) => void
}

/** Starts `bin/mediagen.js serve` with nothing but these settings, on free ports. */
export function startMediagen(
  cores: Where | null,
  settings: Readonly<Record<string, string>>,
  insight?: Insight,
): Promise<Server> {
  const program = join(import.meta.dirname, '../bin/mediagen.js')
  return startServer(cores, [program, 'serve', '--json'], { ...free, ...settings }, insight)
}

/** Starts a server of this folder that is mediagen with another null engine. */
export function startSpecialMediagen(
  cores: Where | null,
  program: string,
  settings: Readonly<Record<string, string>>,
  insight: Insight,
): Promise<Server> {
  return startServer(cores, [join(import.meta.dirname, program)], { ...free, ...settings }, insight)
}

/** Starts a baseline program of this folder. */
export function startBaseline(cores: Cores | null, program: string, argument: string): Promise<Server> {
  return startServer(cores, [join(import.meta.dirname, program), argument], {})
}

async function startServer(
  cores: Where | null,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  insight?: Insight,
): Promise<Server> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MEDIAGEN_'))
  const pinned = cores ? ['taskset', '--cpu-list', String(cores.server)] : []
  const preloads = (insight?.preload ?? []).flatMap((file) => ['--import', join(import.meta.dirname, file)])
  const [command = '', ...rest] = [...pinned, process.execPath, ...(insight?.flags ?? []), ...preloads, ...args]
  const spawnedAt = performance.now()
  const child = spawn(command, rest, {
    env: { ...Object.fromEntries(inherited), ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const { http_url: httpUrl = '', grpc_url: grpcUrl } = await readAddresses(child, insight)
    const startMs = performance.now() - spawnedAt
    return {
      httpUrl,
      grpcAddress: grpcUrl ? new URL(grpcUrl).host : '',
      startMs,
      cpuSeconds: () => readFamilyCpuSeconds(child.pid),
      residentBytes: () => readResidentBytes(child.pid),
      signal: (name) => child.kill(name),
      [Symbol.asyncDispose]: () => stop(child),
    }
  } catch (error) {
    await stop(child)
    throw error
  }
}

interface Addresses {
  readonly http_url?: string
  readonly grpc_url?: string | null
}

function readAddresses(child: ChildProcess, insight?: Insight): Promise<Addresses> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('a server did not start in time')), startTimeoutMs)
    child.once('error', reject)
    child.once('exit', () => reject(new Error('a server ended before it listened')))
    if (!child.stdout) throw new Error('a server without standard output')
    // The log goes on behind the addresses; reading it keeps the pipe from filling.
    createInterface({ input: child.stdout }).on('line', (line) => {
      insight?.onLine(line)
      if (!line.startsWith('{"http_url"') && !line.startsWith('{"grpc_url"')) return
      clearTimeout(timer)
      resolve(JSON.parse(line) as Addresses)
    })
  })
}

/** Ends a child: with SIGTERM, and with SIGKILL when that is not heard. */
export function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.kill('SIGTERM')
  })
}

/** Bytes of a process that are in memory, its files among them: VmRSS of proc_pid_status(5). */
function readResidentBytes(pid: number | undefined): number {
  if (process.platform !== 'linux') return Number.NaN
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
