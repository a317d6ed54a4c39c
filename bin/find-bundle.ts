// The program as few files, which npm has made of its modules after the install (make-bundle.ts). It begins in two thirds of the time.
import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What a bundle was made of. */
export interface BundleSources {
  /** The repository's folder. It is in the code of the bundle. */
  readonly root: string
  /** Of each module its path from the root, its bytes, and when it was last changed, in milliseconds since 1970. */
  readonly files: readonly (readonly [path: string, bytes: number, changedMs: number])[]
}

/** Where the bundle of a repository is. */
export const toBundleFolder = (root: string): string => join(root, 'node_modules/.cache/mediagen/bundle')

/** The file in the bundle's folder that says what it was made of: `BundleSources` as JSON. */
export const sourcesFile = 'sources.json'

/** The URL of the bundle's entry; null if there is none, or if a module has been changed since, or all have been moved. */
export function findBundle(root: string): string | null {
  const folder = toBundleFolder(root)
  const sources = readSources(join(folder, sourcesFile))
  if (sources?.root !== resolve(root)) return null
  const isAsItWas = sources.files.every(([path, bytes, changedMs]) => {
    const stats = statSync(join(root, path), { throwIfNoEntry: false })
    return stats?.size === bytes && stats.mtimeMs === changedMs
  })
  return isAsItWas ? pathToFileURL(join(folder, 'main.js')).href : null
}

function readSources(path: string): BundleSources | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as BundleSources
  } catch {
    return null
  }
}
