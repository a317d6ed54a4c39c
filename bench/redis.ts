// A Redis of a benchmark's own: a Unix socket in a temporary folder, every write flushed to the disk, ended with the benchmark.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Cores } from './cores.ts'
import { readFamilyCpuSeconds } from './process-cpu.ts'
import { stop } from './servers.ts'

const startTimeoutMs = 15_000

/** A Redis that runs. */
export interface Redis extends AsyncDisposable {
  cpuSeconds(): number
}

/** What is missing for a Redis, in words; null when nothing is. */
export function describeMissingRedis(): string | null {
  const { status } = spawnSync('redis-server', ['--version'])
  return status === 0 ? null : 'redis-server is not installed (Debian: apt-get install redis-server)'
}

/** Starts one whose socket is `redis.sock` in a folder. */
export async function startRedis(cores: Cores | null, folder: string): Promise<Redis> {
  const settings = {
    port: '0',
    unixsocket: `${folder}/redis.sock`,
    dir: folder,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const pinned = cores ? ['taskset', '--cpu-list', String(cores.server)] : []
  const [command = '', ...rest] = [...pinned, 'redis-server', ...args]
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await untilReady(child)
    return { cpuSeconds: () => readFamilyCpuSeconds(child.pid), [Symbol.asyncDispose]: () => stop(child) }
  } catch (error) {
    await stop(child)
    throw error
  }
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('Redis did not start in time')), startTimeoutMs)
    child.once('error', reject)
    child.once('exit', () => reject(new Error('Redis ended before it was ready')))
    if (!child.stdout) throw new Error('Redis without standard output')
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.includes('ready to accept connections')) return
      clearTimeout(timer)
      resolve()
    })
  })
}
