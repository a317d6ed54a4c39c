// The processor time of a PostgreSQL server on this machine: what a side makes it do counts for that side.
import { spawnSync } from 'node:child_process'
import { runSql } from '../test/storage/postgres-server.ts'
import type { Cores } from './cores.ts'
import { listChildren, readFamilyCpuSeconds } from './process-cpu.ts'
import type { Side } from './rounds.ts'

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
  return { with: (side) => ({ ...side, cpuSeconds: () => side.cpuSeconds() + readFamilyCpuSeconds(pid) }) }
}
