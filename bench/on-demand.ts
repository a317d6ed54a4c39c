// Rivals that are neither dependencies nor in the lockfile: installed from npm when a benchmark first asks for them.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const installTimeoutMs = 300_000

/** Where to install, by a name that has the version in it. */
export function toOnDemandFolder(name: string): string {
  return join(import.meta.dirname, '../node_modules/.cache/mediagen', name)
}

/** Installs packages, `name@version` each, into a folder unless they are there; null, or why that is impossible. */
export function installOnDemand(folder: string, packages: readonly string[]): string | null {
  // npm writes it last.
  if (existsSync(join(folder, 'node_modules/.package-lock.json'))) return null
  mkdirSync(folder, { recursive: true })
  process.stderr.write(`installing ${packages.join(' ')} …\n`)
  const options = ['--ignore-scripts', '--save-exact', '--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync('npm', ['install', '--prefix', folder, ...options, ...packages], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: installTimeoutMs,
  })
  return status === 0 ? null : `npm could not install ${packages.join(' ')}`
}
