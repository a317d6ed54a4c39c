// A program that is not ours and that a rival needs: a child process on the core for servers, ended with the benchmark.
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Cores } from './cores.ts'
import { readFamilyCpuSeconds } from './process-cpu.ts'
import { stop } from './servers.ts'

const startTimeoutMs = 15_000

/** A daemon that runs. */
export interface Daemon extends AsyncDisposable {
  cpuSeconds(): number
}

/** How one is started. */
export interface DaemonCommand {
  readonly command: readonly string[]
  /** All that it sees of the environment, beside the search path. */
  readonly settings: Readonly<Record<string, string>>
  /** A part of the line on standard output that says that it is ready. */
  readonly ready: string
}

/** Starts one; resolves when it is ready. */
export async function startDaemon(cores: Cores | null, { command, settings, ready }: DaemonCommand): Promise<Daemon> {
  const pinned = cores ? ['taskset', '--cpu-list', String(cores.server)] : []
  const [program = '', ...args] = [...pinned, ...command]
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await untilReady(child, ready)
    return { cpuSeconds: () => readFamilyCpuSeconds(child.pid), [Symbol.asyncDispose]: () => stop(child) }
  } catch (error) {
    await stop(child)
    throw error
  }
}

function untilReady(child: ChildProcess, ready: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${child.spawnfile} did not start in time`)), startTimeoutMs)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`${child.spawnfile} ended before it was ready`)))
    if (!child.stdout) throw new Error('a daemon without standard output')
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.includes(ready)) return
      clearTimeout(timer)
      resolve()
    })
  })
}
