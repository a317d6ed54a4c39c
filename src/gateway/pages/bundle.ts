// Bundles the modules of pages into scripts, with esbuild. docs/decisions/console-bundle.md says why.
import { join, parse } from 'node:path'
import { build, stop } from 'esbuild'

// esbuild's process ends with a call, and would take another one with it.
let last: Promise<unknown> = Promise.resolve()

/**
 * A script for each entry, of the module and all that it imports.
 * @param folder has the entries
 * @param entries names of modules, TypeScript or JavaScript
 * @returns the scripts by the names of their entries, without extension
 * @throws an error that names the module that cannot be bundled
 */
export function bundle(folder: string, entries: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const scripts = last.then(() => bundleNow(folder, entries))
  last = scripts.catch(() => {})
  return scripts
}

async function bundleNow(folder: string, entries: readonly string[]): Promise<ReadonlyMap<string, string>> {
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
