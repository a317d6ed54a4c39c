// How much memory a process holds, and what it has started, asked from outside of it.

import { readFile } from 'node:fs/promises'

/** Resident bytes of a process and of its descendants. */
export interface HeldMemory {
  readonly own: number
  readonly descendants: number
}

/** Null where the system does not tell (only Linux does) or the process is gone. */
export async function readMemory(pid: number): Promise<HeldMemory | null> {
  const own = await readRssBytes(pid)
  return own === null ? null : { own, descendants: await readDescendants(pid) }
}

async function readDescendants(pid: number): Promise<number> {
  // Whoever starts a program here does so on the main thread.
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
