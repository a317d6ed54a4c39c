// How much memory a process holds, asked from outside of it.

import { readFile } from 'node:fs/promises'

/** Resident bytes of a process; null where the system does not tell (only Linux does) or the process is gone. */
export async function readRssBytes(pid: number): Promise<number | null> {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kilobytes === undefined ? null : Number(kilobytes) * 1024
  } catch {
    return null
  }
}
