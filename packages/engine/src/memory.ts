// The memory of a process and its descendants, read from outside.

import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Resident bytes of a process and of its descendants. */
export interface HeldMemory {
  readonly own: number
  readonly descendants: number
}

/**
 * Null if the system does not report memory (only Linux does) or the process has ended.
 * @param topPid the process whose descendants count, which is `pid` or an ancestor of it
 */
export async function readMemory(topPid: number, pid: number): Promise<HeldMemory | null> {
  const own = await readRssBytes(pid)
  return own === null ? null : { own, descendants: Math.max(0, (await readTree(topPid)) - own) }
}

async function readTree(pid: number): Promise<number> {
  // Programs are started on the main thread only.
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  const held = await Promise.all([readRssBytes(pid), ...toPids(children).map((child) => readTree(child))])
  return held.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0)
}

/** The children of a process that its main thread has started. */
export function findChildren(pid: number): number[] {
  try {
    return toPids(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'))
  } catch {
    return []
  }
}

function toPids(children: string): number[] {
  return children
    .split(' ')
    .filter((pid) => pid !== '')
    .map(Number)
}

async function readRssBytes(pid: number): Promise<number | null> {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kilobytes === undefined ? null : Number(kilobytes) * 1024
  } catch {
    return null
  }
}
