// The program as few files, made of its modules after an install. It begins in three quarters of the time, and does the same.
import { randomUUID } from 'node:crypto'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What a bundle was made of. */
interface Sources {
  /** The repository's folder. It is in the code of the bundle. */
  readonly root: string
  /** The bundle's entry, from `toBundles`. */
  readonly entry: string
  /** Paths, from the root. */
  readonly files: readonly string[]
  /** How the files were: `describe`. */
  readonly state: string
}

// npm writes this whenever it installs something: a module may find another package then.
const installed = 'node_modules/.package-lock.json'
// A server may still load from an older one, and another process may be making one.
const keptBundles = 4

/** Where the bundles of a repository are, each in a folder. */
export const toBundles = (root: string): string => join(root, 'node_modules/.cache/mediagen/bundles')

const toSourcesPath = (root: string) => join(toBundles(root), 'sources.json')

/** The URL of the bundle's entry; null if none can be read, a module was changed since, npm installed something, or all was moved. */
export function findBundle(root: string): string | null {
  try {
    const sources = JSON.parse(readFileSync(toSourcesPath(root), 'utf8')) as Sources
    if (sources.root !== resolve(root) || sources.state !== describe(root, sources.files)) return null
    const entry = join(toBundles(root), sources.entry)
    accessSync(entry, constants.R_OK)
    return pathToFileURL(entry).href
  } catch {
    // It was never finished, is for other users, or another version made it.
    return null
  }
}

/** Sizes of files, and the second in which each was last changed: container images keep no more of a time. */
function describe(root: string, paths: readonly string[]): string {
  const states = paths.map((path) => {
    const stats = statSync(join(root, path), { throwIfNoEntry: false })
    return stats ? `${stats.size} ${toSecond(stats.mtimeMs)}` : 'gone'
  })
  return states.join()
}

const toSecond = (ms: number): number => Math.floor(ms / 1000)

/**
 * Makes the bundle of a repository, unless it has one.
 * @throws `ERR_MODULE_NOT_FOUND` if the bundler is not installed; another error if a module cannot be bundled, or is being changed
 */
export async function makeBundle(root: string): Promise<void> {
  if (findBundle(root)) return
  const { bundle } = await import('@mediagen/bundler/bundle.ts')
  const bundles = toBundles(root)
  // Not by `mkdtemp`: the user of a server is often another one than who installs it.
  const folder = join(bundles, randomUUID())
  await mkdir(folder, { recursive: true })
  const startedAt = Date.now()
  const { entry, modules } = await bundle(join(root, 'src/main.ts'), folder)
  const changed = modules.find((path) => toSecond(statSync(path).mtimeMs) >= toSecond(startedAt))
  if (changed) throw new Error(`${changed} was changed meanwhile`)
  const files = [...modules.map((path) => relative(root, path)), installed]
  const sources: Sources = { root: resolve(root), entry: relative(bundles, entry), files, state: describe(root, files) }
  await writeFile(join(folder, 'sources.json'), JSON.stringify(sources))
  await rename(join(folder, 'sources.json'), toSourcesPath(root))
  await removeOldest(bundles)
}

async function removeOldest(bundles: string): Promise<void> {
  const entries = await readdir(bundles, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(bundles, name))
  const oldest = folders.toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs).slice(keptBundles)
  for (const folder of oldest) await rm(folder, { recursive: true, force: true })
}
