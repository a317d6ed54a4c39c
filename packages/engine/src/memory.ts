// The memory of a process and its descendants, read from outside.

import { readFile } from 'node:fs/promises'

/** Resident bytes of a process and of its descendants. */
export interface HeldMemory {
  readonly own: number
  readonly descendants: number
}

/** Null if the system does not tell (only Linux does) or the process has ended. */
export async function readMemory(pid: number): Promise<HeldMemory | null> {
  const own = await readRssBytes(pid)
  return own === null ? null : { own, descendants: await readDescendants(pid) }
}

async function readDescendants(pid: number): Promise<number> {
  // Programs are started on the main thread only.
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  const held = children
    .split(' ')
    .filter((child) => child !== '')
    .map(async (child) => ((await readRssBytes(Number(child))) ?? 0) + (await readDescendants(Number(child))))
  return (await Promise.all(held)).reduce((sum, bytes) => sum + bytes, 0)
}

async function readRssBytes(pid: number): Promise<number | null> {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kilobytes === undefined ? null : Number(kilobytes) * 1024
  } catch {
    return null
  }
}
