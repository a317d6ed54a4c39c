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
import type { Database } from '../connection.ts'
import type { Writing } from '../writing.ts'

// The outputs of a job are in the folder of the run that made them.
const outputsFolder = "split_part(outputs::json -> 0 ->> 'key', '/', 1)"

/** Says that the outputs of jobs are gone, and begins the wait for the removal of their files. */
export const sayGone = `UPDATE jobs SET outputs_gone = CASE outputs WHEN '[]' THEN 2 ELSE 1 END, removal_at = CASE outputs WHEN '[]' THEN NULL ELSE 0 END`
const skipLocked = 'FOR NO KEY UPDATE SKIP LOCKED'

export async function expireFiles(tx: Writing, limit: number): Promise<readonly Removal[]> {
  const now = await tx.nowMs()
  const values = { now, limit, latest: now + longestRemovalWaitMs }
  tx.send(
    `${sayGone} WHERE number IN (SELECT number FROM jobs
       WHERE outputs_gone = 0 AND expires_at IS NOT NULL AND expires_at < :now ORDER BY expires_at LIMIT :limit ${skipLocked})`,
    values,
  )
  tx.send(
    `UPDATE files SET gone = 1, removal_at = 0
     WHERE file_id IN (SELECT file_id FROM files WHERE gone = 0 AND expires_at < :now ORDER BY expires_at LIMIT :limit ${skipLocked})`,
    values,
  )
  // A wait longer than the maximum began before the clock went back.
  const due = 'removal_at IS NOT NULL AND (removal_at <= :now OR removal_at > :latest) ORDER BY removal_at'
  const [outputs, uploads] = await Promise.all([
    tx.rows<Removal>(
      `SELECT ${outputsFolder} AS folder, job_id AS jobId FROM jobs WHERE ${due}, number LIMIT :limit`,
      values,
    ),
    tx.rows<Removal>(`SELECT file_id AS folder, NULL AS jobId FROM files WHERE ${due}, file_id LIMIT :limit`, values),
  ])
  return [...outputs, ...uploads]
}

/** The folders of jobs and of uploads among removals, by what their rows have. */
function split(removals: readonly Removal[]) {
  const jobIds = removals.flatMap(({ jobId }) => jobId ?? []).toSorted()
  const fileIds = removals.flatMap(({ folder, jobId }) => (jobId === null ? [folder] : [])).toSorted()
  return { jobIds, fileIds }
}

export async function crossOff(tx: Writing, removals: readonly Removal[]): Promise<void> {
  const ids = split(removals)
  tx.send('DELETE FROM files WHERE file_id = ANY(:fileIds) AND gone = 1', ids)
  tx.send('UPDATE jobs SET outputs_gone = 2, removal_at = NULL WHERE job_id = ANY(:jobIds) AND outputs_gone = 1', ids)
}

export async function putOff(tx: Writing, removals: readonly Removal[]): Promise<void> {
  const ids = split(removals)
  const nowMs = await tx.nowMs()
  type Overdue = { id: string; since: number | null }
  const jobs = await tx.rows<Overdue>(
    'SELECT job_id AS id, coalesce(deleted_at, expires_at) AS since FROM jobs WHERE job_id = ANY(:jobIds) AND outputs_gone = 1 FOR NO KEY UPDATE',
    ids,
  )
  const files = await tx.rows<Overdue>(
    'SELECT file_id AS id, expires_at AS since FROM files WHERE file_id = ANY(:fileIds) AND gone = 1 FOR NO KEY UPDATE',
    ids,
  )
  const next = ({ since }: Overdue): number => nowMs + removalWaitMs(nowMs - (since ?? nowMs))
  for (const row of jobs)
    tx.send('UPDATE jobs SET removal_at = :next WHERE job_id = :id', { id: row.id, next: next(row) })
  for (const row of files)
    tx.send('UPDATE files SET removal_at = :next WHERE file_id = :id', { id: row.id, next: next(row) })
}

export async function retryRemovals(tx: Writing): Promise<void> {
  tx.send('UPDATE jobs SET removal_at = 0 WHERE removal_at > 0')
  tx.send('UPDATE files SET removal_at = 0 WHERE removal_at > 0')
}

export async function forgetJobs(tx: Writing, { keepMs, after, limit }: ForgetCommand): Promise<Forgotten> {
  const before = (await tx.nowMs()) - keepMs
  const [page = { last: null, oldest: null, jobs: 0 }] = await tx.rows<ForgetPage>(selectForgetPage, { after, limit })
  const which = { after, last: page.last, before }
  tx.send(`${sayGone} WHERE ${withFiles}`, which)
  tx.send(deleteDeliveries, which)
  return toForgotten(page, limit, before, await tx.change(deleteJobs, which))
}

interface OutputsRow {
  readonly jobId: string
  readonly accountId: string
  readonly status: string
  readonly folder: string | null
  readonly gone: boolean
}

export function createRetentionReads(db: Database) {
  async function findOwners(folders: readonly string[]): Promise<ReadonlyMap<string, FolderOwner>> {
    const fileIds = folders.filter((folder) => isId('file', folder))
    // A folder marked as removed that still exists, because a power cut undid the removal, is an orphan.
    const outputs = await db.rows<OutputsRow>(
      `SELECT job_id AS jobId, account_id AS accountId, status, ${outputsFolder} AS folder,
         outputs_gone > 0 OR coalesce(expires_at < now_ms(:held), FALSE) AS gone FROM jobs WHERE job_id = ANY(:jobIds) AND outputs_gone < 2`,
      { jobIds: folders.map(jobOfFolder) },
    )
    const uploads = await db.rows<{ fileId: string; accountId: string; gone: boolean }>(
      'SELECT file_id AS fileId, account_id AS accountId, gone = 1 OR expires_at < now_ms(:held) AS gone FROM files WHERE file_id = ANY(:fileIds)',
      { fileIds },
    )
    const jobs = new Map(outputs.map((row) => [row.jobId, row]))
    const files = new Map(uploads.map((row) => [row.fileId, row]))

    function findOwner(folder: string): FolderOwner | null {
      const upload = files.get(folder)
      if (upload) return { accountId: upload.accountId, kind: upload.gone ? 'expired' : 'uploads' }
      const job = jobs.get(jobOfFolder(folder))
      if (!job) return null
      const { accountId, status } = job
      // A run may be storing outputs now.
      if (status === 'queued' || status === 'running') return { accountId, kind: 'outputs' }
      return job.folder === folder ? { accountId, kind: job.gone ? 'expired' : 'outputs' } : null
    }
    const found = folders.map((folder) => [folder, findOwner(folder)] as const)
    return new Map(found.flatMap(([folder, owner]) => (owner ? [[folder, owner]] : [])))
  }

  return {
    findOwners,
    async hasFiles(folder: string): Promise<boolean> {
      const row = await db.row<{ kept: boolean }>(
        `SELECT EXISTS (SELECT 1 FROM jobs WHERE job_id = :jobId AND outputs_gone = 0)
           OR EXISTS (SELECT 1 FROM files WHERE file_id = :folder AND gone = 0) AS kept`,
        { folder, jobId: jobOfFolder(folder) },
      )
      return row?.kept ?? false
    },
    async hasExpired(): Promise<boolean> {
      const row = await db.row<{ expired: boolean }>(
        `WITH t AS (SELECT now_ms(:held) AS now)
         SELECT EXISTS (SELECT 1 FROM jobs WHERE outputs_gone = 0 AND expires_at IS NOT NULL AND expires_at < (SELECT now FROM t))
           OR EXISTS (SELECT 1 FROM jobs WHERE removal_at IS NOT NULL AND removal_at <= (SELECT now FROM t))
           OR EXISTS (SELECT 1 FROM files WHERE gone = 0 AND expires_at < (SELECT now FROM t))
           OR EXISTS (SELECT 1 FROM files WHERE removal_at IS NOT NULL AND removal_at <= (SELECT now FROM t)) AS expired`,
      )
      return row?.expired ?? false
    },
  }
}
