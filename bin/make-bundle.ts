// Makes few files of the modules that src/main.ts loads: half of a start is Node finding and loading 550 of them. find-bundle.ts
// says when they are used. Threads and forked processes run from the sources.
import { rm, stat, writeFile } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { type BundleSources, findBundle, sourcesFile, toBundleFolder } from './find-bundle.ts'

// Ours, and those of others that come as hundreds of ES modules and never ask where they are. All others stay as they are.
const bundled = /^@(mediagen|bufbuild|connectrpc)\//

/** Bundles a repository, unless its bundle is as it would be. @param root its folder, with `src/main.ts` */
export async function makeBundle(root: string): Promise<void> {
  if (findBundle(root)) return
  const folder = toBundleFolder(root)
  await rm(folder, { recursive: true, force: true })
  await using bundle = await rolldown({
    input: join(root, 'src/main.ts'),
    platform: 'node',
    plugins: [keepPackages(folder), keepPlaces],
  })
  await bundle.write({
    dir: folder,
    // Names of classes are in the log.
    keepNames: true,
    // For who starts Node with --enable-source-maps, which takes a twelfth of a start.
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  })
  const files = [...(await bundle.watchFiles), import.meta.filename].map(async (path) => {
    const { size, mtimeMs } = await stat(path)
    return [relative(root, path), size, mtimeMs] as const
  })
  const sources: BundleSources = { root: resolve(root), files: await Promise.all(files) }
  // Last of all, because a bundle without it is not used.
  await writeFile(join(folder, sourcesFile), JSON.stringify(sources))
}

/** Leaves packages to Node, if it finds the same ones from the bundle as from the module that imports them. */
const keepPackages = (folder: string): Plugin => ({
  name: 'keep-packages',
  resolveId(specifier, importer) {
    if (!importer || /^[./]/.test(specifier) || bundled.test(specifier)) return null
    const external = findPackage(specifier, importer) === findPackage(specifier, join(folder, 'main.js'))
    return external ? { id: specifier, external } : null
  },
})

/** The package that a module imports; null for one of Node's own, or one that is not installed. */
function findPackage(specifier: string, importer: string): string | null {
  try {
    return findPackageJSON(specifier, pathToFileURL(importer)) ?? null
  } catch {
    return null
  }
}

/** Tells modules where they were: they find files beside them, and start threads and processes from there. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  transform: {
    filter: { code: 'import.meta.' },
    handler(code, path) {
      const places = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path }
      const placed = code.replace(/\bimport\.meta\.(url|dirname|filename)\b/g, (_, place: keyof typeof places) =>
        JSON.stringify(places[place]),
      )
      // Lines stay where they are, which is all that a stack shows.
      return { code: placed, map: null }
    },
  },
}
