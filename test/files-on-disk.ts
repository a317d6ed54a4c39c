// What a server has on its disk: stored files, and files that are not whole yet.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Folders of stored uploads, with their paths. A kill just before a file is placed in its folder leaves that empty. */
export function listUploads(dataDir: string): string[] {
  const folders = listFolder(join(dataDir, 'assets')).filter((path) => /file_\w+$/.test(path))
  return folders.filter((folder) => listFolder(folder).length > 0)
}

/** Files that processes are taking in. */
export function listIntake(dataDir: string): string[] {
  return listFolder(join(dataDir, 'processes')).flatMap((folder) => listFolder(join(folder, 'intake')))
}

/** Folders of runs. */
export function listRuns(dataDir: string): string[] {
  return listFolder(join(dataDir, 'work')).flatMap((worker) => listFolder(worker))
}

function listFolder(path: string): string[] {
  return existsSync(path) ? readdirSync(path).map((name) => join(path, name)) : []
}
