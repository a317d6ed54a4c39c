// What a run left in its folder.
import { readdir } from 'node:fs/promises'

/** Names of the outputs in a folder. Names of drafts begin with a dot; where nobody watches, they stay. */
export async function listOutputs(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((file) => !file.startsWith('.'))
}
