// The folder for the run folders of one process.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isProcessAlive } from './worker-name.ts'

/** Where the folder of this process is below `root`. */
export function workFolderOf(root: string): string {
  return join(root, String(process.pid))
}

/** Creates the folder of this process below `root`, and removes those of dead processes. */
export function openWorkFolder(root: string): string {
  mkdirSync(root, { recursive: true })
  for (const name of readdirSync(root)) {
    // A folder with this process id belongs to an earlier process.
    if (Number(name) === process.pid || !isProcessAlive(Number(name)))
      rmSync(join(root, name), { recursive: true, force: true })
  }
  const folder = workFolderOf(root)
  mkdirSync(folder, { recursive: true })
  return folder
}
