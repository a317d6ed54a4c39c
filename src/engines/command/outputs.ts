// The folder of a run: which of its files are the outputs.

import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { EngineError } from '@mediagen/engine/engine.ts'
import { checkFolderSize } from '@mediagen/engine/folder-size.ts'

/** What a run may leave in its folder. */
export interface OutputLimits {
  readonly maxOutputs: number
  readonly maxOutputBytes: number
}

/**
 * Lists the outputs: the regular files directly in `folder` whose names do not begin with a dot, in the order of their
 * names' code units (so `10.png` comes before `9.png`: number with leading zeros). Folders in it are ignored.
 * @throws EngineError `no_output`, `too_many_outputs`, `output_invalid` (a link, a pipe, a device), `output_too_large`
 */
export async function listOutputs(folder: string, limits: OutputLimits): Promise<string[]> {
  await checkFolder(folder)
  await checkFolderSize(folder, limits.maxOutputBytes)
  const names: string[] = []
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(ifGone)) {
    if (entry.name.startsWith('.') || entry.isDirectory()) continue
    // A link could name any file that the server may read; a pipe would keep its reader waiting.
    if (!entry.isFile())
      throw new EngineError('output_invalid', `Output ${entry.name} is ${describe(entry)}, not a regular file.`)
    names.push(entry.name)
  }
  if (names.length === 0) throw new EngineError('no_output', 'The program succeeded but left no output file.')
  if (names.length > limits.maxOutputs) {
    throw new EngineError('too_many_outputs', `The program left more than ${limits.maxOutputs} output files.`)
  }
  return names.toSorted((a, b) => (a < b ? -1 : 1))
}

/** The runner ensures that no file comes from another folder; this only improves the message. */
async function checkFolder(folder: string): Promise<void> {
  const stats = await lstat(folder).catch(ifGone)
  if (!Array.isArray(stats) && !stats.isDirectory())
    throw new EngineError('output_invalid', 'The program replaced its working folder by something else.')
}

function ifGone(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
  throw error
}

function describe(entry: Dirent): string {
  if (entry.isSymbolicLink()) return 'a symbolic link'
  if (entry.isFIFO()) return 'a named pipe'
  return entry.isSocket() ? 'a socket' : 'a device'
}
