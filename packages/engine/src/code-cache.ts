// The compile cache of forked processes, which halves the processor time of their start. It is not the cache of the server, which
// would run code that a process has put there.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { chmod, readdir, stat } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SystemUser } from './containment.ts'

/** The argument of a process that only fills the cache, and ends when it has loaded its code. */
export const fillArgument = 'fill-code-cache'

/**
 * The folder for `NODE_COMPILE_CACHE`; null if the server has no such cache.
 * @param user whose processes use it. Those of the server's own user write to theirs, so it is not the one that `fillCodeCache` fills
 */
export function findCodeCache(user: SystemUser | null): string | null {
  const folder = getCompileCacheDir()
  if (folder === undefined) return null
  const cache = join(dirname(folder), user ? 'contained' : 'forked')
  mkdirSync(cache, { recursive: true })
  return cache
}

/**
 * Fills the cache for processes of another user. They may read it but not write to it: a process that was taken over must not
 * leave code for later ones. Does nothing if the cache is filled already. Best effort: without it, processes start slowly.
 */
export async function fillCodeCache(cache: string, entry: URL, user: SystemUser): Promise<void> {
  const path = fileURLToPath(entry)
  const state = `${process.version} ${path} ${statSync(path).mtimeMs} ${user.uid}`
  const mark = join(cache, `filled-${createHash('sha256').update(state).digest('hex').slice(0, 16)}`)
  if (existsSync(mark)) return
  const filler = spawn(process.execPath, [path, fillArgument], {
    env: { NODE_COMPILE_CACHE: cache },
    stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
  })
  await once(filler, 'exit')
  await openFolder(cache)
  const { mode } = await stat(dirname(cache))
  await chmod(dirname(cache), mode | 0o001)
  // Node names its folder by the user, too.
  const own = `-${process.getuid?.()}`
  for (const folder of readdirSync(cache)) {
    const theirs = join(cache, `${folder.slice(0, -own.length)}-${user.uid}`)
    if (folder.endsWith(own) && !existsSync(theirs)) symlinkSync(folder, theirs)
  }
  writeFileSync(mark, '')
}

/** Makes a folder and its content readable for every user, whatever the umask of the server is. */
async function openFolder(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await openFolder(path)
    else if (entry.isFile()) await chmod(path, 0o644)
  }
}
