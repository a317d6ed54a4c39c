// The sources that a renderer's pictures depend on: its module and every module of ours that it imports.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

// Types leave nothing behind when the program runs.
const typeImport = /^import type [^']*from '[^']+'/gm
const relativeImport = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g

/** A digest of a module and of all that it imports by relative paths, whatever their order. */
export function digestSources(entry: string): string {
  const hash = createHash('sha256')
  for (const file of [...listSources(entry)].toSorted()) hash.update(readFileSync(file)).update('\0')
  return hash.digest('hex')
}

/** The module and all that it imports, however far away. */
export function listSources(entry: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(entry)) return found
  found.add(entry)
  for (const [, path = ''] of readFileSync(entry, 'utf8').replaceAll(typeImport, '').matchAll(relativeImport)) {
    const file = join(dirname(entry), path)
    if (existsSync(file)) listSources(file, found)
  }
  return found
}
