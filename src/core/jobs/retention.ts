// Retention of files: the ports that find and remove expired files and orphans.

/** Expired files: all blobs whose keys begin with the name of this folder. */
export interface Removal {
  readonly folder: string
  /** The job of the outputs; null for an upload, whose folder is its id. */
  readonly jobId: string | null
}

export type FolderKind = 'outputs' | 'uploads' | 'expired'

export interface FolderOwner {
  readonly accountId: string
  readonly kind: FolderKind
}

/** A walk over jobs from the oldest on, page by page. */
export interface ForgetCommand {
  /** Jobs that ended longer ago are forgotten. */
  readonly keepMs: number
  /** The page begins behind this; 0 at first. */
  readonly after: number
  /** Jobs that are looked at. */
  readonly limit: number
}

/** The job that a folder belongs to: that of a run has its number behind the job, that of a draft another one. */
export function jobOfFolder(folder: string): string {
  return folder.replace(/(?:-\d+){1,2}$/, '')
}

/** What became of a page. */
export interface Forgotten {
  /** Jobs that were removed. */
  readonly jobs: number
  /** Where the next page begins; null when what follows is younger. */
  readonly next: number | null
}

/** The records of how long files are kept. */
export interface RetentionStore {
  /** Whether any file has expired: cheap, and called often. */
  hasExpired(): Promise<boolean>
  /**
   * Marks expired files as gone and forgets the inputs of expired jobs, at most `limit` of each kind, and returns folders to
   * remove: these, and earlier ones that are due again.
   */
  expireFiles(limit: number): Promise<readonly Removal[]>
  /** Marks folders as removed. */
  crossOff(removals: readonly Removal[]): Promise<void>
  /** Makes folders that could not be removed due again later (`removalWaitMs`). */
  putOff(removals: readonly Removal[]): Promise<void>
  /** Makes all of them due now. */
  retryRemovals(): Promise<void>
  /**
   * Removes jobs that ended long ago with their finished deliveries; entries of the ledger stay and go on naming them. Those whose files are there are
   * marked as gone, and removed by a later walk. Jobs about which something is pending stay, and so does the newest.
   */
  forgetJobs(command: ForgetCommand): Promise<Forgotten>
  /** Whether there is a record that a folder belongs to, and its files are not gone: deleted by their owner, or expired. */
  hasFiles(folder: string): Promise<boolean>
  /** The owners of folders; orphans are missing from the answer. */
  findOwners(folders: readonly string[]): Promise<ReadonlyMap<string, FolderOwner>>
}

/** The stored files of a run or an upload. A folder is what their keys have before the first slash. */
export interface FilesFolder {
  readonly name: string
  readonly files: number
  readonly bytes: number
  /** Time since the last one was stored. */
  readonly untouchedMs: number
}

/** All stored files, by folder. */
export interface FilesFolders {
  list(): AsyncIterable<FilesFolder>
  /** Removes a folder with its content. Ignores a missing one. */
  remove(folder: string): Promise<void>
}

/** A folder without a record may get one soon, from a running job or upload. After this long it will not. */
export const orphanMs = 3_600_000

/** Folders per query. */
export const foldersAtOnce = 200

/** A stored folder with its owner. */
export interface FoundFolder extends FilesFolder {
  /** Null for an orphan: no record names it, and nothing was stored in it for `orphanMs`. */
  readonly owner: FolderOwner | null
}

/** Lists all folders with their owners; skips those that are young and may get a record yet. */
export async function* surveyFolders(
  folders: Pick<FilesFolders, 'list'>,
  store: Pick<RetentionStore, 'findOwners'>,
): AsyncIterable<FoundFolder> {
  let some: FilesFolder[] = []
  async function* take(): AsyncIterable<FoundFolder> {
    const owners = await store.findOwners(some.map(({ name }) => name))
    for (const folder of some) {
      const owner = owners.get(folder.name) ?? null
      if (owner || folder.untouchedMs > orphanMs) yield { ...folder, owner }
    }
    some = []
  }
  for await (const folder of folders.list()) if (some.push(folder) === foldersAtOnce) yield* take()
  yield* take()
}

/** The longest wait before the removal of a folder is tried again. */
export const longestRemovalWaitMs = 86_400_000
const firstRemovalWaitMs = 60_000

/** The wait before the removal of a folder is tried again: as long as it has been overdue, so it doubles each time. */
export function removalWaitMs(overdueMs: number): number {
  return Math.min(Math.max(overdueMs, firstRemovalWaitMs), longestRemovalWaitMs)
}

/** A folder that could not be removed, and why. */
export interface StuckFolder {
  readonly folder: string
  readonly error: unknown
}

/** The result of removing expired files. */
export interface Removed {
  /** Removed folders. */
  readonly folders: number
  /** Folders that could not be removed: they are due again later, and delay no other. */
  readonly stuck: readonly StuckFolder[]
}

/** Removes expired files, at most this many folders of each kind. */
export async function removeExpired(
  store: RetentionStore,
  folders: Pick<FilesFolders, 'remove'>,
  limit: number,
): Promise<Removed> {
  // First the records change, then the files are removed, then they are marked as removed, so another process can continue at any point.
  const removals = await store.expireFiles(limit)
  const removed: Removal[] = []
  const late: Removal[] = []
  const stuck: StuckFolder[] = []
  for (const removal of removals) {
    try {
      await folders.remove(removal.folder)
      removed.push(removal)
    } catch (error) {
      late.push(removal)
      stuck.push({ folder: removal.folder, error })
    }
  }
  if (removed.length > 0) await store.crossOff(removed)
  if (late.length > 0) await store.putOff(late)
  return { folders: removed.length, stuck }
}
