// Keeps servers on one core and the load on another, so that neither takes from the other.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Which core serves and which one asks; null where cores cannot be given out. */
export interface Cores {
  readonly server: number
  readonly load: number
  /** Every core that was there to be given out, as `taskset` takes them. */
  readonly all: string
}

/** Takes the first core that this process may use for servers and moves this process to the second. */
export function divideCores(): Cores | null {
  const allowed = listAllowedCores()
  const [server, load] = allowed
  if (server === undefined || load === undefined) return null
  const moved = spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(load), String(process.pid)])
  return moved.status === 0 ? { server, load, all: allowed.join(',') } : null
}

/** Every core, for a server: what this process starts would stay on its own. */
export function toAllCores(cores: Cores | null): { readonly server: string } | null {
  return cores && { server: cores.all }
}

function listAllowedCores(): number[] {
  if (process.platform !== 'linux') return []
  const [, list = ''] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}
