// Bundles the modules of pages into scripts, with esbuild. docs/decisions/console-bundle.md says why.
import { join, parse } from 'node:path'
import { build, stop } from 'esbuild'

/**
 * A script for each entry, of the module and all that it imports. Wait for one call before you make another: esbuild's process ends
 * with the first.
 * @param folder has the entries
 * @param entries names of modules, TypeScript or JavaScript
 * @returns the scripts by the names of their entries, without extension
 * @throws an error that names the module that cannot be bundled
 */
export async function bundle(folder: string, entries: readonly string[]): Promise<ReadonlyMap<string, string>> {
  try {
    const { outputFiles } = await build({
      entryPoints: entries.map((entry) => join(folder, entry)),
      outdir: folder,
      bundle: true,
      format: 'esm',
      minify: true,
      // The same script wherever it is made: images and tarballs have no tsconfig.json.
      tsconfigRaw: '{}',
      write: false,
      logLevel: 'silent',
    })
    return new Map(outputFiles.map(({ path, text }) => [parse(path).name, text]))
  } finally {
    await stop()
  }
}
