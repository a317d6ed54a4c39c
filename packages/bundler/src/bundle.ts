// Makes few files of the modules of a program: a third of a start is Node finding and loading hundreds of them. Its threads and
// forked processes still run from their modules.
import { writeFile } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'

// Ours, and those of others that come as hundreds of ES modules and never ask where they are.
const bundled = /^@(mediagen|bufbuild|connectrpc)\//

const entryFile = 'main.js'

/** A bundle that was made: paths. */
export interface Bundle {
  readonly entry: string
  /** All that it was made of, and this module, which decides how. */
  readonly modules: readonly string[]
}

/**
 * Bundles a program for Node.
 * @param entry its first module
 * @param folder where the files go; the modules are named in them by their paths
 * @throws if a module cannot be read as TypeScript or JavaScript
 */
export async function bundle(entry: string, folder: string): Promise<Bundle> {
  await using program = await rolldown({
    input: entry,
    platform: 'node',
    plugins: [keepPackages(folder), keepPlaces],
  })
  await program.write({
    dir: folder,
    // Names of classes are in the log.
    keepNames: true,
    // For who starts Node with --enable-source-maps, which takes a twelfth of a start.
    sourcemap: true,
    entryFileNames: entryFile,
    chunkFileNames: '[name]-[hash].js',
  })
  // Node would have to guess.
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n')
  return { entry: join(folder, entryFile), modules: [...(await program.watchFiles), import.meta.filename] }
}

/** Leaves all other packages to Node, if it finds the same from the bundle as from the module that imports them. */
const keepPackages = (folder: string): Plugin => ({
  name: 'keep-packages',
  resolveId(specifier, importer) {
    if (!importer || /^[./]/.test(specifier) || bundled.test(specifier)) return null
    const external = findPackage(specifier, importer) === findPackage(specifier, join(folder, entryFile))
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
