// Retention: finds expired jobs and uploads, forgets inputs, and tracks which files are still to be removed.
import { isId } from '../../../core/ids.ts'
import {
  type FolderOwner,
  type ForgetCommand,
  type Forgotten,
  jobOfFolder,
  longestRemovalWaitMs,
  type Removal,
  removalWaitMs,
} from '../../../core/jobs/retention.ts'
import {
  deleteDeliveries,
  deleteJobs,
  type ForgetPage,
  selectForgetPage,
  toForgotten,
  withFiles,
} from '../../forgetting.ts'
import type { Connection } from '../connection.ts'
import type { Writing } from '../threads/writing.ts'

// The outputs of a job are in the folder of the run that made them.
const outputsFolder = "substr(outputs ->> '$[0].key', 1, instr(outputs ->> '$[0].key', '/') - 1)"

/** Says that the outputs of jobs are gone; what follows says of which. */
export const sayGone = `UPDATE jobs SET outputs_gone = iif(outputs = '[]', 2, 1), removal_at = iif(outputs = '[]', NULL, 0)`

export function createRetentionCommands({ db, nowMs }: Writing) {
  const expireJobs = db.prepare<{ now: number; limit: number }>(
    `${sayGone} WHERE number IN (
       SELECT number FROM jobs WHERE outputs_gone = 0 AND expires_at IS NOT NULL AND expires_at < :now ORDER BY expires_at LIMIT :limit)`,
  )
  const expireUploads = db.prepare<{ now: number; limit: number }>(
    `UPDATE files SET gone = 1, removal_at = 0
     WHERE file_id IN (SELECT file_id FROM files WHERE gone = 0 AND expires_at < :now ORDER BY expires_at LIMIT :limit)`,
  )
  // A wait longer than the maximum began before the clock went back.
  const due = 'removal_at IS NOT NULL AND (removal_at <= :now OR removal_at > :latest) ORDER BY removal_at'
  const goneOutputs = db.prepare<Due, Removal>(
    `SELECT ${outputsFolder} AS folder, job_id AS jobId FROM jobs WHERE ${due}, number LIMIT :limit`,
  )
  const goneUploads = db.prepare<Due, Removal>(
    `SELECT file_id AS folder, NULL AS jobId FROM files WHERE ${due}, file_id LIMIT :limit`,
  )
  const outputsRemoved = db.prepare<[string]>(
    'UPDATE jobs SET outputs_gone = 2, removal_at = NULL WHERE job_id = ? AND outputs_gone = 1',
  )
  const forgetUpload = db.prepare<[string]>('DELETE FROM files WHERE file_id = ? AND gone = 1')
  const overdueOutputs = db
    .prepare<[string], number>('SELECT coalesce(deleted_at, expires_at) FROM jobs WHERE job_id = ?')
    .pluck()
  const overdueUpload = db.prepare<[string], number>('SELECT expires_at FROM files WHERE file_id = ?').pluck()
  const putOffOutputs = db.prepare<[number, string]>(
    'UPDATE jobs SET removal_at = ? WHERE job_id = ? AND outputs_gone = 1',
  )
  const putOffUpload = db.prepare<[number, string]>('UPDATE files SET removal_at = ? WHERE file_id = ? AND gone = 1')
  const retryOutputs = db.prepare<[]>('UPDATE jobs SET removal_at = 0 WHERE removal_at > 0')
  const retryUploads = db.prepare<[]>('UPDATE files SET removal_at = 0 WHERE removal_at > 0')
  return {
    expireFiles(limit: number): readonly Removal[] {
      const now = nowMs()
      expireJobs.run({ now, limit })
      expireUploads.run({ now, limit })
      const when = { now, latest: now + longestRemovalWaitMs, limit }
      return [...goneOutputs.all(when), ...goneUploads.all(when)]
    },
    crossOff(removals: readonly Removal[]): void {
      for (const { folder, jobId } of removals) {
        if (jobId === null) forgetUpload.run(folder)
        else outputsRemoved.run(jobId)
      }
    },
    putOff(removals: readonly Removal[]): void {
      const now = nowMs()
      const next = (expiredAtMs = now): number => now + removalWaitMs(now - expiredAtMs)
      for (const { folder, jobId } of removals) {
        if (jobId === null) putOffUpload.run(next(overdueUpload.get(folder)), folder)
        else putOffOutputs.run(next(overdueOutputs.get(jobId)), jobId)
      }
    },
    retryRemovals(): void {
      retryOutputs.run()
      retryUploads.run()
    },
  }
}

export function createForgetting({ db, nowMs }: Writing) {
  const findPage = db.prepare<ForgetCommand, ForgetPage>(selectForgetPage)
  const [mark, forgetDeliveries, forget] = [`${sayGone} WHERE ${withFiles}`, deleteDeliveries, deleteJobs].map((sql) =>
    db.prepare<[object]>(sql),
  )
  return {
    forgetJobs(command: ForgetCommand): Forgotten {
      const before = nowMs() - command.keepMs
      const page = findPage.get(command) ?? { last: null, oldest: null, jobs: 0 }
      const which = { after: command.after, last: page.last, before }
      mark?.run(which)
      forgetDeliveries?.run(which)
      return toForgotten(page, command.limit, before, forget?.run(which).changes ?? 0)
    },
  }
}

type Due = { now: number; latest: number; limit: number }

interface OutputsRow {
  readonly accountId: string
  readonly status: string
  readonly folder: string | null
  readonly gone: number
}

export function createRetentionReads(db: Connection, nowMs: () => number) {
  const expired = db
    .prepare<{ now: number }, number>(
      `SELECT EXISTS (SELECT 1 FROM jobs WHERE outputs_gone = 0 AND expires_at IS NOT NULL AND expires_at < :now)
         OR EXISTS (SELECT 1 FROM jobs WHERE removal_at IS NOT NULL AND removal_at <= :now)
         OR EXISTS (SELECT 1 FROM files WHERE gone = 0 AND expires_at < :now)
         OR EXISTS (SELECT 1 FROM files WHERE removal_at IS NOT NULL AND removal_at <= :now)`,
    )
    .pluck()
  // A folder marked as removed that still exists, because a power cut undid the removal, is an orphan.
  const findOutputs = db.prepare<[number, string], OutputsRow>(
    `SELECT account_id AS accountId, status, ${outputsFolder} AS folder,
       outputs_gone > 0 OR coalesce(expires_at < ?, FALSE) AS gone FROM jobs WHERE job_id = ? AND outputs_gone < 2`,
  )
  const findUpload = db.prepare<[number, string], { accountId: string; gone: number }>(
    'SELECT account_id AS accountId, gone = 1 OR expires_at < ? AS gone FROM files WHERE file_id = ?',
  )
  const hasFiles = db
    .prepare<{ folder: string; jobId: string }, number>(
      `SELECT EXISTS (SELECT 1 FROM jobs WHERE job_id = :jobId AND outputs_gone = 0)
         OR EXISTS (SELECT 1 FROM files WHERE file_id = :folder AND gone = 0)`,
    )
    .pluck()

  function findOwner(folder: string): FolderOwner | null {
    if (isId('file', folder)) {
      const upload = findUpload.get(nowMs(), folder)
      return upload ? { accountId: upload.accountId, kind: upload.gone ? 'expired' : 'uploads' } : null
    }
    const job = findOutputs.get(nowMs(), jobOfFolder(folder))
    if (!job) return null
    const { accountId, status } = job
    // A run may be storing outputs now.
    if (status === 'queued' || status === 'running') return { accountId, kind: 'outputs' }
    return job.folder === folder ? { accountId, kind: job.gone ? 'expired' : 'outputs' } : null
  }

  return {
    hasFiles: (folder: string): boolean => hasFiles.get({ folder, jobId: jobOfFolder(folder) }) === 1,
    hasExpired: (): boolean => expired.get({ now: nowMs() }) === 1,
    findOwners: (folders: readonly string[]): ReadonlyMap<string, FolderOwner> =>
      new Map(
        folders.flatMap((folder) => {
          const owner = findOwner(folder)
          return owner ? [[folder, owner] as const] : []
        }),
      ),
  }
}
