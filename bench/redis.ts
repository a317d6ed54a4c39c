// A Redis of a benchmark's own: a Unix socket in a temporary folder, every write flushed to the disk.
import { spawnSync } from 'node:child_process'
import type { Cores } from './cores.ts'
import { type Daemon, startDaemon } from './daemon.ts'

/** What is missing for a Redis, in words; null when nothing is. */
export function describeMissingRedis(): string | null {
  const { status } = spawnSync('redis-server', ['--version'])
  return status === 0 ? null : 'redis-server is not installed (Debian: apt-get install redis-server)'
}

/** Starts one whose socket is `redis.sock` in a folder. */
export function startRedis(cores: Cores | null, folder: string): Promise<Daemon> {
  const options = {
    port: '0',
    unixsocket: `${folder}/redis.sock`,
    dir: folder,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
  }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  return startDaemon(cores, {
    command: ['redis-server', ...args],
    settings: {},
    ready: 'ready to accept connections',
  })
}
