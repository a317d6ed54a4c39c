// A Restate server of a benchmark's own: Unix sockets and data in a temporary folder, every append to its log flushed to the disk.
// Its licence (BSL) is not one that this project may depend on, so it is installed when a benchmark needs it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Cores } from './cores.ts'
import { type Daemon, startDaemon } from './daemon.ts'
import { installOnDemand, toOnDemandFolder } from './on-demand.ts'

const version = '1.7.12'
const folder = toOnDemandFolder(`restate-${version}`)
const packages = [`@restatedev/restate-server@${version}`, '@restatedev/restate-sdk@1.17.2']
const scope = join(folder, 'node_modules/@restatedev')
const program = join(scope, `restate-server-${process.platform}-${process.arch}/bin/restate-server`)
const nodeName = 'bench'

/** The module with which a service is written. */
export const restateSdk = join(scope, 'restate-sdk/dist/index.js')

/** The socket of one of its ports, in the folder that it was started with. */
export function toRestateSocket(dataDir: string, port: 'admin' | 'ingress'): string {
  return join(dataDir, nodeName, `${port}.sock`)
}

/** Installs what is missing; says in words what could not be had, null when all is there. */
export function describeMissingRestate(): string | null {
  const missing = installOnDemand(folder, packages)
  if (missing !== null) return missing
  return existsSync(program) ? null : `Restate has no server for ${process.platform}-${process.arch}`
}

/** Starts one that keeps its data in a folder. */
export function startRestate(cores: Cores | null, dataDir: string): Promise<Daemon> {
  return startDaemon(cores, {
    command: [program, '--no-logo', '--log-format', 'compact', '--log-disable-ansi-codes', 'true'],
    settings: {
      DO_NOT_TRACK: '1',
      // It leaves a folder there.
      TMPDIR: dataDir,
      // It asks GitHub for newer versions, and complains where it cannot.
      RESTATE_LOG_FILTER: 'warn,restate=info,octocrab=off',
      RESTATE_BASE_DIR: dataDir,
      RESTATE_NODE_NAME: nodeName,
      RESTATE_LISTEN_MODE: 'unix',
      // Partitions are what it divides among cores, and here is one.
      RESTATE_DEFAULT_NUM_PARTITIONS: '1',
      // Its default, written out: what it acknowledges is on the disk.
      RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: 'false',
    },
    // Said of its only partition, behind all else.
    ready: 'became Leader',
  })
}
