// Portkey's AI gateway, MIT, from npm: installed when it is first needed, outside of this project's dependencies.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Cores } from './cores.ts'
import { readFamilyCpuSeconds } from './process-cpu.ts'
import { stop } from './servers.ts'

/** The version that is measured. */
export const portkeyVersion = '1.15.2'
const startTimeoutMs = 15_000
const folder = join(import.meta.dirname, `../node_modules/.cache/mediagen/portkey-${portkeyVersion}`)
const program = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js')

/** A gateway that runs. */
export interface Portkey extends AsyncDisposable {
  readonly port: number
  cpuSeconds(): number
}

/** Starts one without its page of logs, as in production. */
export async function startPortkey(cores: Cores | null): Promise<Portkey> {
  install()
  const port = await findPort()
  const args = [program, `--port=${port}`, '--headless']
  const [command, rest] = cores
    ? ['taskset', ['--cpu-list', String(cores.server), process.execPath, ...args]]
    : [process.execPath, args]
  const child = spawn(command, rest, {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await untilReady(child)
    return { port, cpuSeconds: () => readFamilyCpuSeconds(child.pid), [Symbol.asyncDispose]: () => stop(child) }
  } catch (error) {
    await stop(child)
    throw error
  }
}

function install(): void {
  if (existsSync(program)) return
  process.stderr.write(`installing @portkey-ai/gateway ${portkeyVersion} into ${folder} …\n`)
  const options = ['--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...options, `@portkey-ai/gateway@${portkeyVersion}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** A port that is free now: the gateway does not tell which one it got. */
async function findPort(): Promise<number> {
  const server = createServer().listen(0)
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('a port has no number')
  return address.port
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('Portkey did not start in time')), startTimeoutMs)
    child.once('error', reject)
    child.once('exit', () => reject(new Error('Portkey ended before it was ready')))
    if (!child.stdout) throw new Error('Portkey without standard output')
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said = (said + String(chunk)).slice(-1000)
      if (!said.includes('Ready for connections')) return
      clearTimeout(timer)
      resolve()
    })
  })
}
