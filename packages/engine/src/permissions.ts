// What Node lets a forked process do (its permission model): read code and its own files, write its own files, load native
// libraries. It holds for JavaScript; what is native is held by the system.

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProcessFolders } from './process-folders.ts'

/** What a process may do beyond computing. */
export interface ProcessRights {
  /** The module that it runs; it may read all that is beside it. */
  readonly entry: URL
  /** Further folders of code. */
  readonly code: readonly URL[]
  /** Whether it may start threads. */
  readonly startsThreads?: boolean
  /** Whether it may start programs. */
  readonly startsPrograms?: boolean
}

/** Arguments for Node that let a process do this and nothing else. */
export function toNodeFlags(rights: ProcessRights, folders: ProcessFolders, codeCache: string | null): string[] {
  const entry = fileURLToPath(rights.entry)
  const cache = codeCache === null ? [] : [codeCache]
  const readable = [
    dirname(entry),
    ...rights.code.map((url) => fileURLToPath(url)),
    import.meta.dirname,
    ...findPackages(dirname(entry)),
    folders.input,
    folders.output,
    ...cache,
  ]
  return [
    '--permission',
    '--allow-addons',
    // Of what is allowed here.
    '--disable-warning=SecurityWarning',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    ...[folders.output, ...cache].map((path) => `--allow-fs-write=${path}`),
    ...(rights.startsThreads ? ['--allow-worker'] : []),
    ...(rights.startsPrograms ? ['--allow-child-process'] : []),
  ]
}

/** Where Node looks for the packages that a module imports, and for what kind of modules they are. */
function findPackages(folder: string): string[] {
  const here = ['node_modules', 'package.json'].map((name) => join(folder, name)).filter((path) => existsSync(path))
  const parent = dirname(folder)
  return parent === folder ? here : [...here, ...findPackages(parent)]
}
