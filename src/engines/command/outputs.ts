// The folder of a run: which of its files are the outputs.

import { readdir } from 'node:fs/promises'
import { EngineError } from '@mediagen/engine/engine.ts'
import { checkFolderSize } from '@mediagen/engine/folder-size.ts'

/** What a run may leave in its folder. */
export interface OutputLimits {
  readonly maxOutputs: number
  readonly maxOutputBytes: number
}

/**
 * Lists the outputs: the regular files directly in `folder` whose names do not begin with a dot, in the order of their
 * names' code units (so `10.png` comes before `9.png`: number with leading zeros).
 * @throws EngineError `no_output`, `too_many_outputs`, `output_invalid` (a symbolic link), `output_too_large`
 */
export async function listOutputs(folder: string, limits: OutputLimits): Promise<string[]> {
  await checkFolderSize(folder, limits.maxOutputBytes)
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
