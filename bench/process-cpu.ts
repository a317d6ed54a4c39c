// The processor time of a process and of the processes that it started, from proc_pid_stat(5).
import { readdirSync, readFileSync } from 'node:fs'

// Linux counts processor time in hundredths of a second.
const ticksPerSecond = 100

/** Seconds used so far by a process and all its descendants, those that have ended included; NaN where the system does not tell. */
export function readFamilyCpuSeconds(pid: number | undefined): number {
  return process.platform === 'linux' && pid !== undefined ? countTicks(pid) / ticksPerSecond : Number.NaN
}

/** Seconds used so far by this process. */
export function readOwnCpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Its own and those of children that have ended, then those of the others. */
function countTicks(pid: number): number {
  return listChildren(pid).reduce((sum, child) => sum + countTicks(child), sumTicks(pid, [11, 12, 13, 14]))
}

/** The processes that a process started and that run. */
export function listChildren(parent: number): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readFields(name)[1] === parent)
    .map(Number)
}

/** Fields, counted behind the name, which may hold spaces. */
function readFields(pid: number | string): readonly number[] {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    return fields.split(' ').map(Number)
  } catch {
    // It has ended.
    return []
  }
}

function sumTicks(pid: number, fields: readonly number[]): number {
  const found = readFields(pid)
  return fields.reduce((sum, field) => sum + (found[field] ?? 0), 0)
}
