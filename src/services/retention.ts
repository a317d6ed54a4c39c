// The operator's view of files: disk usage, and the removal of expired files and orphans.
import type { ServiceImpl } from '@connectrpc/connect'
import type { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import {
  type FilesFolders,
  foldersAtOnce,
  type FoundFolder,
  removeExpired,
  type RetentionStore,
  type StuckFolder,
  surveyFolders,
} from '../core/retention.ts'

/** Creates the operator's part, for AdminService. */
export function createRetentionAdmin(
  store: RetentionStore,
  folders: FilesFolders,
): Pick<ServiceImpl<typeof AdminService>, 'measureFiles' | 'sweepFiles'> {
  return {
    async measureFiles() {
      const usage = new Map<string, { accountId: string; kind: string; files: number; bytes: number }>()
      for await (const { owner, files, bytes } of surveyFolders(folders, store)) {
        const accountId = owner?.accountId ?? ''
        const kind = owner?.kind ?? 'orphans'
        const seen = usage.get(`${accountId} ${kind}`) ?? { accountId, kind, files: 0, bytes: 0 }
        usage.set(`${accountId} ${kind}`, { ...seen, files: seen.files + files, bytes: seen.bytes + bytes })
      }
      return {
        usage: [...usage.values()]
          .toSorted((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1))
          .map(({ files, bytes, ...whose }) => ({ ...whose, files: BigInt(files), bytes: BigInt(bytes) })),
      }
    },

    async sweepFiles({ dryRun }) {
      const expired = new Map<string, FoundFolder>()
      const orphaned = new Map<string, FoundFolder>()
      for await (const found of surveyFolders(folders, store)) {
        if (!found.owner) orphaned.set(found.name, found)
        else if (found.owner.kind === 'expired') expired.set(found.name, found)
      }
      const stuck = dryRun
        ? []
        : [...(await removeOrphans(folders, orphaned.keys())), ...(await removeAllExpired(store, folders))]
      for (const { folder } of stuck) for (const counted of [expired, orphaned]) counted.delete(folder)
      return {
        expiredFiles: sum(expired, 'files'),
        expiredBytes: sum(expired, 'bytes'),
        orphanedFiles: sum(orphaned, 'files'),
        orphanedBytes: sum(orphaned, 'bytes'),
        notRemoved: stuck.map(({ folder, error }) => `${folder}: ${(error as Error).message}`),
      }
    },
  }
}

async function removeOrphans(folders: FilesFolders, names: Iterable<string>): Promise<StuckFolder[]> {
  const stuck: StuckFolder[] = []
  for (const folder of names) await folders.remove(folder).catch((error: unknown) => void stuck.push({ folder, error }))
  return stuck
}

/** Repeats until nothing more is removed. */
async function removeAllExpired(store: RetentionStore, folders: FilesFolders): Promise<readonly StuckFolder[]> {
  for (;;) {
    const removed = await removeExpired(store, folders, foldersAtOnce)
    if (removed.folders === 0) return removed.stuck
  }
}

function sum(found: ReadonlyMap<string, FoundFolder>, what: 'files' | 'bytes'): bigint {
  return BigInt([...found.values()].reduce((total, folder) => total + folder[what], 0))
}

/** Accounts by age; files that belong to no account come last. */
function sortKey({ accountId, kind }: { accountId: string; kind: string }): string {
  return `${accountId || '~'} ${kind}`
}
