// The operator's view of files: what they take on the disk, and removing what is over.
import type { ServiceImpl } from '@connectrpc/connect'
import type { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import {
  type FilesFolders,
  foldersAtOnce,
  removeExpired,
  type RetentionStore,
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
      const expired = { files: 0, bytes: 0 }
      const orphaned = { files: 0, bytes: 0 }
      for await (const { name, owner, files, bytes } of surveyFolders(folders, store)) {
        if (owner && owner.kind !== 'expired') continue
        const counted = owner ? expired : orphaned
        counted.files += files
        counted.bytes += bytes
        if (!owner && !dryRun) await folders.remove(name)
      }
      if (!dryRun) while ((await removeExpired(store, folders, foldersAtOnce)) > 0);
      return {
        expiredFiles: BigInt(expired.files),
        expiredBytes: BigInt(expired.bytes),
        orphanedFiles: BigInt(orphaned.files),
        orphanedBytes: BigInt(orphaned.bytes),
      }
    },
  }
}

/** Accounts by their age, and what belongs to none of them last. */
function sortKey({ accountId, kind }: { accountId: string; kind: string }): string {
  return `${accountId || '~'} ${kind}`
}
