// How long files are kept, and the ports to what finds and removes those whose time is over.

/** Files whose time is over: one folder below the root of the assets. */
export interface Removal {
  readonly folder: string
  /** Whose outputs they are; null for an upload, whose folder is its id. */
  readonly jobId: string | null
}

/** What the files in a folder are to an account. */
export type FolderKind = 'outputs' | 'uploads' | 'expired'

/** Whose a folder is. */
export interface FolderOwner {
  readonly accountId: string
  readonly kind: FolderKind
}

/** Where it is written down how long files are kept. */
export interface RetentionStore {
  /** Whether the time of any file is over: cheap, and asked for often. */
  hasExpired(): Promise<boolean>
  /**
   * Says of files whose time is over that they are gone, `limit` of each kind at most, and answers with those that are to be
   * removed: these and what was left by whoever did not get so far.
   */
  expireFiles(limit: number): Promise<readonly Removal[]>
  /** Crosses off what has been removed. */
  crossOff(removals: readonly Removal[]): Promise<void>
  /** Whose folders are; those that belong to nothing are missing from the answer. */
  findOwners(folders: readonly string[]): Promise<ReadonlyMap<string, FolderOwner>>
}

/** One folder of files on the disk. */
export interface FilesFolder {
  readonly name: string
  readonly files: number
  readonly bytes: number
  /** How long nothing was written to it. */
  readonly untouchedMs: number
}

/** The folders in which files are kept, as they are on the disk. */
export interface FilesFolders {
  list(): AsyncIterable<FilesFolder>
  /** Removes a folder with all that is in it. Quiet about what is not there. */
  remove(folder: string): Promise<void>
}

/** A folder that belongs to nothing may belong to something soon: a run or an upload under way. After so long it does not. */
export const orphanMs = 3_600_000

/** Folders asked about at a time. */
export const foldersAtOnce = 200

/** What one look at the disk found. */
export interface FoundFolder extends FilesFolder {
  /** Null for an orphan: no record names it, and nothing has been written to it for `orphanMs`. */
  readonly owner: FolderOwner | null
}

/** Goes through all folders and says whose they are; what is being written now and belongs to nothing yet is passed over. */
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

/** A folder that could not be removed, and why. */
export interface StuckFolder {
  readonly folder: string
  readonly error: unknown
}

/** What became of files whose time was over. */
export interface Removed {
  /** Folders that are gone. */
  readonly folders: number
  /** Those that are still there: they stay due, and keep no other. */
  readonly stuck: readonly StuckFolder[]
}

/** Removes files whose time is over, so many folders of each kind at most. */
export async function removeExpired(
  store: RetentionStore,
  folders: Pick<FilesFolders, 'remove'>,
  limit: number,
): Promise<Removed> {
  // First the records say so, then the files go, then they are crossed off: whoever stops in between is followed by another.
  const removals = await store.expireFiles(limit)
  const removed: Removal[] = []
  const stuck: StuckFolder[] = []
  for (const removal of removals) {
    try {
      await folders.remove(removal.folder)
      removed.push(removal)
    } catch (error) {
      stuck.push({ folder: removal.folder, error })
    }
  }
  if (removed.length > 0) await store.crossOff(removed)
  return { folders: removed.length, stuck }
}
