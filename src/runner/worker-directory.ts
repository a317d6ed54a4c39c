// The directory of a process in the data directory: folders of its own under a random name, and a lock that shows that it lives.
// Process ids say nothing: in two containers on one volume, both are 1.
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { isId } from '../core/ids.ts'
import type { Store } from '../core/store.ts'
import { createLock, type FileLock, seizeLock } from './file-lock.ts'

/** The folders in which every process has one of its own. */
export interface WorkerDirectoryFolders {
  readonly locks: string
  /** Of runs. */
  readonly work: string
  /** Of forked processes, and of files that are not whole yet. */
  readonly processes: string
}

/** The directory of this process. */
export interface WorkerDirectory {
  /** Names this process in records. */
  readonly name: string
  readonly work: string
  readonly processes: string
  /** Makes the folders. Before this nothing is on the disk. */
  open(): void
  /**
   * Processes that died and left their directories, unless another process already cleans up after them. The caller ends what
   * they held, then clears their directories.
   */
  findDead(): DeadWorkers
  /** Whether no other process is known to live in this data directory. */
  isAlone(): boolean
  /** Removes the folders; what uses them has ended. */
  leave(): void
}

/** Directories of dead processes. */
export interface DeadWorkers {
  readonly names: readonly string[]
  /** Removes what is left of them. */
  clear(): void
  /** Leaves them as they are to another process. */
  release(): void
}

/**
 * Ends the leases of processes that died here, so that their jobs need not wait until they run out, and clears their directories.
 * If the store cannot do that now, the leases run out, and the next start clears the directories.
 */
export async function succeedDead(
  workerDirectory: WorkerDirectory,
  store: Pick<Store, 'endLeases'>,
  log: Logger,
): Promise<void> {
  const dead = workerDirectory.findDead()
  const { names: workers } = dead
  try {
    if (workers.length > 0)
      log.warn({ workers, jobs: await store.endLeases(workers) }, 'processes with this data directory had died')
  } catch (error) {
    dead.release()
    return log.error({ err: error, workers }, 'the leases of processes that had died could not be ended')
  }
  dead.clear()
}

const isWorkerDirectory = (name: string): boolean => isId('worker', name)

/** @param name a new id of a worker */
export function createWorkerDirectory(folders: WorkerDirectoryFolders, name: string): WorkerDirectory {
  let lock: FileLock | null = null
  let alone = false
  const parents = [folders.work, folders.processes]
  const clear = (gone: string): void => {
    for (const parent of parents) rmSync(join(parent, gone), { recursive: true, force: true })
  }
  return {
    name,
    work: join(folders.work, name),
    processes: join(folders.processes, name),
    open() {
      mkdirSync(folders.locks, { recursive: true })
      lock = createLock(join(folders.locks, name))
      for (const parent of parents) mkdirSync(join(parent, name), { recursive: true })
    },
    findDead() {
      // Folders first: a lock is made before them and removed after them, so a folder without a lock has no owner.
      const found = parents.flatMap((parent) => readdirSync(parent))
      const locked = readdirSync(folders.locks).filter(isWorkerDirectory)
      const ownerless = found.filter((entry) => isWorkerDirectory(entry) && !locked.includes(entry))
      const dead = new Map<string, FileLock>()
      for (const entry of locked) {
        const seized = entry === name ? null : seizeLock(join(folders.locks, entry))
        if (seized) dead.set(entry, seized)
      }
      return {
        names: [...dead.keys()],
        release() {
          for (const seized of dead.values()) seized.release()
        },
        clear() {
          for (const gone of ownerless) clear(gone)
          for (const [gone, seized] of dead) {
            clear(gone)
            seized.remove()
          }
        },
      }
    },
    isAlone() {
      try {
        alone = readdirSync(folders.locks).every((entry) => entry === name || !isWorkerDirectory(entry))
      } catch {
        // For example, no file descriptor is free: the last answer is used again.
      }
      return alone
    },
    leave() {
      if (lock === null) return
      clear(name)
      lock.remove()
    },
  }
}

/** Whether a process lives in a data directory, by its locks. */
export function isInhabited(locks: string): boolean {
  return listWorkers(locks).some(({ lives }) => lives)
}

/** The processes of a data directory: those that live, and those that died and were not followed by another yet. */
export function listWorkers(locks: string): readonly { readonly name: string; readonly lives: boolean }[] {
  if (!existsSync(locks)) return []
  return readdirSync(locks)
    .filter(isWorkerDirectory)
    .map((name) => {
      const path = join(locks, name)
      const seized = seizeLock(path)
      seized?.release()
      return { name, lives: seized === null && existsSync(path) }
    })
}
