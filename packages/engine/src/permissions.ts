// The rights of a forked process in Node's permission model: to read code and its own files, write its own files, and load native
// libraries. They apply to JavaScript only; the system contains native code.

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProcessFolders } from './process-folders.ts'

/** What a process may do beyond computing. */
export interface ProcessRights {
  /** The module that it runs; it may read all files in the same folder. */
  readonly entry: URL
  /** Further folders of code. */
  readonly code: readonly URL[]
  /** Whether it may start threads. */
  readonly startsThreads?: boolean
  /** Whether it may start programs. */
  readonly startsPrograms?: boolean
}

/** Arguments for Node that give a process these rights and no others. */
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

/** The files that Node reads to find the packages that a module imports, and the kinds of their modules. */
function findPackages(folder: string): string[] {
  const here = ['node_modules', 'package.json'].map((name) => join(folder, name)).filter((path) => existsSync(path))
  const parent = dirname(folder)
  return parent === folder ? here : [...here, ...findPackages(parent)]
}
