// The program as few files, made of its modules after an install. It begins in three quarters of the time, and does the same.
import { readFileSync, statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What a bundle was made of. */
interface Sources {
  /** The repository's folder. It is in the code of the bundle. */
  readonly root: string
  /** The bundle's entry, in its folder. */
  readonly entry: string
  /** Paths, from the root. */
  readonly modules: readonly string[]
  /** How the modules were: `describe`. */
  readonly state: string
}

/** Where the bundle of a repository is. */
export const toBundleFolder = (root: string): string => join(root, 'node_modules/.cache/mediagen/bundle')

const toSourcesPath = (root: string) => join(toBundleFolder(root), 'sources.json')

/** The URL of the bundle's entry; null if there is none, or if a module has been changed since, or all have been moved. */
export function findBundle(root: string): string | null {
  try {
    const sources = JSON.parse(readFileSync(toSourcesPath(root), 'utf8')) as Sources
    if (sources.root !== resolve(root) || sources.state !== describe(root, sources.modules)) return null
    return pathToFileURL(join(toBundleFolder(root), sources.entry)).href
  } catch {
    // It was never finished, or another version made it.
    return null
  }
}

/** Sizes of files, and the second in which each was last changed: container images keep no more of a time. */
function describe(root: string, paths: readonly string[]): string {
  const states = paths.map((path) => {
    const stats = statSync(join(root, path), { throwIfNoEntry: false })
    return stats ? `${stats.size} ${Math.floor(stats.mtimeMs / 1000)}` : 'gone'
  })
  return states.join()
}

/**
 * Makes the bundle of a repository, unless it is as it would be: a running server may be about to load a part of it.
 * @throws `ERR_MODULE_NOT_FOUND` if the bundler is not installed; another error if a module cannot be bundled
 */
export async function makeBundle(root: string): Promise<void> {
  if (findBundle(root)) return
  const { bundle, entryFile } = await import('@mediagen/bundler/bundle.ts')
  const folder = toBundleFolder(root)
  await rm(folder, { recursive: true, force: true })
  const paths = await bundle(join(root, 'src/main.ts'), folder)
  const modules = paths.map((path) => relative(root, path))
  const sources: Sources = { root: resolve(root), entry: entryFile, modules, state: describe(root, modules) }
  // Last of all, because a bundle without it is not used.
  await writeFile(toSourcesPath(root), JSON.stringify(sources))
}
