// The processor time of a PostgreSQL server on this machine: what a side makes it do counts for that side.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { runSql } from '../test/storage/postgres-server.ts'
import type { Cores } from './cores.ts'
import type { Side } from './rounds.ts'

const ticksPerSecond = 100

/** A server whose processes are known. */
export interface PostgresCpu {
  /** Counts what the server does as what the side does, while nobody else uses it. */
  with(side: Side): Side
}

/** Finds the processes of a server, and lets them have all cores, as those that use it do not. */
export async function watchPostgres(url: string, cores: Cores | null): Promise<PostgresCpu> {
  const [row] = await runSql(url, "SELECT pg_read_file('postmaster.pid') AS pid")
  const pid = Number.parseInt(String(row?.['pid']), 10)
  if (cores)
    for (const one of [pid, ...listChildren(pid)]) spawnSync('taskset', ['--cpu-list', '--pid', cores.all, String(one)])
  const cpuSeconds = (): number => {
    // Its own and those of connections that have ended, then those of the others.
    const ended = sumTicks(pid, [11, 12, 13, 14])
    return (ended + listChildren(pid).reduce((sum, child) => sum + sumTicks(child, [11, 12]), 0)) / ticksPerSecond
  }
  return { with: (side) => ({ ...side, cpuSeconds: () => side.cpuSeconds() + cpuSeconds() }) }
}

/** Fields of proc_pid_stat(5), counted behind the name. */
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

function listChildren(parent: number): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readFields(name)[1] === parent)
    .map(Number)
}
