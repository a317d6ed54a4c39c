// The folder in which the runs of one process have their folders.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isProcessAlive } from './worker-name.ts'

/** Makes the folder of this process below `root`, and removes those of processes that are no more. */
export function openWorkFolder(root: string): string {
  mkdirSync(root, { recursive: true })
  for (const name of readdirSync(root)) {
    // A folder with our number is that of a process that had it before us.
    if (Number(name) === process.pid || !isProcessAlive(Number(name)))
      rmSync(join(root, name), { recursive: true, force: true })
  }
  const folder = join(root, String(process.pid))
  mkdirSync(folder, { recursive: true })
  return folder
}
