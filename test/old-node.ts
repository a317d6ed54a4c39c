// A Node on this machine that is older than the one that mediagen needs.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** Its path and version; null if there is none. */
export function findOldNode(): { path: string; version: string } | null {
  for (const path of ['/usr/bin/node', '/usr/local/bin/node']) {
    if (!existsSync(path)) continue
    const version = execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
    if (Number(version.split('.')[0]) < 24) return { path, version }
  }
  return null
}
