// What a server has on its disk: stored files, and files that are not whole yet.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Folders of stored uploads, with their paths. */
export function listUploads(dataDir: string): string[] {
  return listFolder(join(dataDir, 'assets')).filter((path) => /file_\w+$/.test(path))
}

/** Files that processes are taking in. */
export function listIntake(dataDir: string): string[] {
  return listFolder(join(dataDir, 'processes')).flatMap((folder) => listFolder(join(folder, 'intake')))
}

/** Folders of runs. */
export function listRuns(dataDir: string): string[] {
  return listFolder(join(dataDir, 'work')).flatMap((home) => listFolder(home))
}

function listFolder(path: string): string[] {
  return existsSync(path) ? readdirSync(path).map((name) => join(path, name)) : []
}
