// The folder of a run: how much is in it while the program works, and which of its files are the outputs.

import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '../../core/engine.ts'

/** Most entries looked at in one folder tree; a program that leaves more is stopped like one that writes too much. */
const maxEntries = 10_000

/** What a run may leave in its folder. */
export interface OutputLimits {
  readonly maxOutputs: number
  readonly maxOutputBytes: number
}

/**
 * Checks that all files below `folder`, hidden ones and subfolders included, stay within `maxOutputBytes` together.
 * @throws EngineError `output_too_large`
 */
export async function checkFolderSize(folder: string, { maxOutputBytes }: OutputLimits): Promise<void> {
  let bytes = 0
  let entries = 0
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true }).catch(() => [])) {
      entries += 1
      const path = join(next, entry.name)
      if (entry.isDirectory()) folders.push(path)
      // The program may remove a file at any moment: then it weighs nothing.
      else if (entry.isFile()) bytes += (await lstat(path).catch(() => ({ size: 0 }))).size
      if (bytes > maxOutputBytes) {
        throw new EngineError('output_too_large', `The program wrote more than ${maxOutputBytes} bytes.`)
      }
      if (entries > maxEntries) {
        throw new EngineError('output_too_large', `The program left more than ${maxEntries} files.`)
      }
    }
  }
}

/**
 * Lists the outputs: the regular files directly in `folder` whose names do not begin with a dot, in the order of their
 * names' code units (so `10.png` comes before `9.png`: number with leading zeros).
 * @throws EngineError `no_output`, `too_many_outputs`, `output_invalid` (a symbolic link), `output_too_large`
 */
export async function listOutputs(folder: string, limits: OutputLimits): Promise<string[]> {
  await checkFolderSize(folder, limits)
  const names: string[] = []
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (entry.name.startsWith('.')) continue
    // A link could name any file that the server may read.
    if (entry.isSymbolicLink()) throw new EngineError('output_invalid', `Output ${entry.name} is a symbolic link.`)
    if (entry.isFile()) names.push(entry.name)
  }
  if (names.length === 0) throw new EngineError('no_output', 'The program succeeded but left no output file.')
  if (names.length > limits.maxOutputs) {
    throw new EngineError('too_many_outputs', `The program left more than ${limits.maxOutputs} output files.`)
  }
  return names.toSorted((a, b) => (a < b ? -1 : 1))
}
