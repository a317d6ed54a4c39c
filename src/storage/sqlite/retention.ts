// Retention of files: finds expired outputs and uploads, and tracks which are still to be removed.
import { isId } from '../../core/ids.ts'
import type { FolderOwner, Removal } from '../../core/retention.ts'
import type { Connection } from './connection.ts'
import type { Writing } from './writing.ts'

// The outputs of a job are in the folder of the run that made them.
const outputsFolder = "substr(outputs ->> '$[0].key', 1, instr(outputs ->> '$[0].key', '/') - 1)"

/** Creates the commands. */
export function createRetentionCommands({ db, nowMs }: Writing) {
  const expireOutputs = db.prepare<[number, number]>(
    `UPDATE jobs SET outputs_gone = 1 WHERE number IN (SELECT number FROM jobs WHERE outputs_gone = 0 AND outputs_expire_at IS NOT NULL
       AND outputs_expire_at < ? ORDER BY outputs_expire_at LIMIT ?)`,
  )
  const expireUploads = db.prepare<[number, number]>(
    `UPDATE files SET gone = 1 WHERE file_id IN (SELECT file_id FROM files WHERE gone = 0 AND expires_at < ? ORDER BY expires_at LIMIT ?)`,
  )
  const goneOutputs = db.prepare<[number], Removal>(
    `SELECT ${outputsFolder} AS folder, job_id AS jobId FROM jobs WHERE outputs_gone = 1 ORDER BY number LIMIT ?`,
  )
  const goneUploads = db.prepare<[number], Removal>(
    'SELECT file_id AS folder, NULL AS jobId FROM files WHERE gone = 1 ORDER BY file_id LIMIT ?',
  )
  const outputsRemoved = db.prepare<[string]>('UPDATE jobs SET outputs_gone = 2 WHERE job_id = ? AND outputs_gone = 1')
  const forgetUpload = db.prepare<[string]>('DELETE FROM files WHERE file_id = ? AND gone = 1')
  return {
    expireFiles(limit: number): readonly Removal[] {
      expireOutputs.run(nowMs(), limit)
      expireUploads.run(nowMs(), limit)
      return [...goneOutputs.all(limit), ...goneUploads.all(limit)]
    },
    crossOff(removals: readonly Removal[]): void {
      for (const { folder, jobId } of removals) {
        if (jobId === null) forgetUpload.run(folder)
        else outputsRemoved.run(jobId)
      }
    },
  }
}

interface OutputsRow {
  readonly accountId: string
  readonly status: string
  readonly folder: string | null
  readonly gone: number
}

/** Creates the reads. */
export function createRetentionReads(db: Connection, nowMs: () => number) {
  const expired = db
    .prepare<{ now: number }, number>(
      `SELECT EXISTS (SELECT 1 FROM jobs WHERE outputs_gone = 0 AND outputs_expire_at IS NOT NULL AND outputs_expire_at < :now)
         OR EXISTS (SELECT 1 FROM jobs WHERE outputs_gone = 1)
         OR EXISTS (SELECT 1 FROM files WHERE gone = 0 AND expires_at < :now) OR EXISTS (SELECT 1 FROM files WHERE gone = 1)`,
    )
    .pluck()
  // A folder marked as removed that still exists, because a power cut undid the removal, is an orphan.
  const findOutputs = db.prepare<[number, string], OutputsRow>(
    `SELECT account_id AS accountId, status, ${outputsFolder} AS folder,
       outputs_gone > 0 OR coalesce(outputs_expire_at < ?, FALSE) AS gone FROM jobs WHERE job_id = ? AND outputs_gone < 2`,
  )
  const findUpload = db.prepare<[number, string], { accountId: string; gone: number }>(
    'SELECT account_id AS accountId, gone = 1 OR expires_at < ? AS gone FROM files WHERE file_id = ?',
  )

  function findOwner(folder: string): FolderOwner | null {
    if (isId('file', folder)) {
      const upload = findUpload.get(nowMs(), folder)
      return upload ? { accountId: upload.accountId, kind: upload.gone ? 'expired' : 'uploads' } : null
    }
    const job = findOutputs.get(nowMs(), folder.replace(/-\d+$/, ''))
    if (!job) return null
    const { accountId, status } = job
    // A run may be storing outputs now.
    if (status === 'queued' || status === 'running') return { accountId, kind: 'outputs' }
    return job.folder === folder ? { accountId, kind: job.gone ? 'expired' : 'outputs' } : null
  }

  return {
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
