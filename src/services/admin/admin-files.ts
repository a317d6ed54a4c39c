// The operator's view of files: disk usage, and the removal of expired files and orphans.
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { AdminService } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { Actor, AuditStore } from '../../core/accounts/audit.ts'
import {
  type FilesFolders,
  foldersAtOnce,
  type FoundFolder,
  removeExpired,
  type RetentionStore,
  type StuckFolder,
  surveyFolders,
} from '../../core/jobs/retention.ts'

/** How long things are kept, and where, as the settings say. */
export interface RetentionSettings {
  /** Of outputs, uploads and inputs. */
  readonly filesMs: number
  /** Of ended jobs; null for ever. */
  readonly jobsMs: number | null
  /** How long a job is under review before its hold is released. */
  readonly reviewMs: number
  readonly filesIn: 'disk' | 's3'
  readonly uploadBytesPerAccount: number
}

/** Creates the operator's part, for AdminService. */
export function createFilesAdmin(
  store: RetentionStore & Pick<AuditStore, 'recordAct'>,
  folders: FilesFolders,
  { filesMs, jobsMs, reviewMs, filesIn, uploadBytesPerAccount }: RetentionSettings,
  by: (context: HandlerContext) => Actor,
): Pick<ServiceImpl<typeof AdminService>, 'measureFiles' | 'sweepFiles' | 'getRetention'> {
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

    getRetention: () => ({
      fileSeconds: toSeconds(filesMs),
      ...(jobsMs !== null && { jobSeconds: toSeconds(jobsMs) }),
      reviewSeconds: toSeconds(reviewMs),
      filesIn,
      uploadBytesPerAccount: BigInt(uploadBytesPerAccount),
    }),

    async sweepFiles({ dryRun }, context) {
      const expired = new Map<string, FoundFolder>()
      const orphaned = new Map<string, FoundFolder>()
      for await (const found of surveyFolders(folders, store)) {
        if (!found.owner) orphaned.set(found.name, found)
        else if (found.owner.kind === 'expired') expired.set(found.name, found)
      }
      const record = (act: 'files.sweep_begun' | 'files.swept', before: JsonObject, after: JsonObject | null) =>
        store.recordAct({ act, subject: 'files', accountId: null, before, after }, by(context))
      const found = toCounts(expired, orphaned)
      // Recorded before anything is removed: a sweep that is interrupted has removed files, too.
      if (!dryRun) await record('files.sweep_begun', found, null)
      const stuck = dryRun
        ? []
        : [...(await removeOrphans(folders, orphaned.keys())), ...(await removeAllExpired(store, folders))]
      for (const { folder } of stuck) for (const counted of [expired, orphaned]) counted.delete(folder)
      const removed = toCounts(expired, orphaned)
      if (!dryRun) await record('files.swept', found, { ...removed, folders_not_removed: stuck.length })
      return {
        expiredFiles: BigInt(removed.expired_files),
        expiredBytes: BigInt(removed.expired_bytes),
        orphanedFiles: BigInt(removed.orphaned_files),
        orphanedBytes: BigInt(removed.orphaned_bytes),
        notRemoved: stuck.map(({ folder, error }) => `${folder}: ${(error as Error).message}`),
      }
    },
  }
}

function toSeconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000))
}

async function removeOrphans(folders: FilesFolders, names: Iterable<string>): Promise<StuckFolder[]> {
  const stuck: StuckFolder[] = []
  for (const folder of names) await folders.remove(folder).catch((error: unknown) => void stuck.push({ folder, error }))
  return stuck
}

/** Tries every folder once, also those that could not be removed before. */
async function removeAllExpired(store: RetentionStore, folders: FilesFolders): Promise<StuckFolder[]> {
  await store.retryRemovals()
  const allStuck: StuckFolder[] = []
  for (;;) {
    const { folders: removed, stuck } = await removeExpired(store, folders, foldersAtOnce)
    if (removed + stuck.length === 0) return allStuck
    allStuck.push(...stuck)
  }
}

function toCounts(expired: ReadonlyMap<string, FoundFolder>, orphaned: ReadonlyMap<string, FoundFolder>) {
  return {
    expired_files: sum(expired, 'files'),
    expired_bytes: sum(expired, 'bytes'),
    orphaned_files: sum(orphaned, 'files'),
    orphaned_bytes: sum(orphaned, 'bytes'),
  }
}

function sum(found: ReadonlyMap<string, FoundFolder>, what: 'files' | 'bytes'): number {
  return [...found.values()].reduce((total, folder) => total + folder[what], 0)
}

/** Accounts by age; files that belong to no account come last. */
function sortKey({ accountId, kind }: { accountId: string; kind: string }): string {
  return `${accountId || '~'} ${kind}`
}
