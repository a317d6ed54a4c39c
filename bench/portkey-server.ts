// Portkey's AI gateway, MIT, from npm: installed when it is first needed, outside of this project's dependencies.
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Cores } from './cores.ts'
import { type Daemon, startDaemon } from './daemon.ts'
import { installOnDemand, toOnDemandFolder } from './on-demand.ts'

/** The version that is measured. */
export const portkeyVersion = '1.15.2'
const folder = toOnDemandFolder(`portkey-${portkeyVersion}`)
const program = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js')

/** A gateway that runs. */
export interface Portkey extends Daemon {
  readonly port: number
}

/** Installs it when it is first needed; says in words why that is impossible, null when it is there. */
export function describeMissingPortkey(): string | null {
  return installOnDemand(folder, [`@portkey-ai/gateway@${portkeyVersion}`])
}

/** Starts one without its page of logs, as in production. */
export async function startPortkey(cores: Cores | null): Promise<Portkey> {
  const port = await findPort()
  const daemon = await startDaemon(cores, {
    command: [process.execPath, program, `--port=${port}`, '--headless'],
    settings: { NODE_ENV: 'production' },
    ready: 'Ready for connections',
  })
  return { ...daemon, port }
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
