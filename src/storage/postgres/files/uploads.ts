// Uploads: recorded, read, and marked as gone. retention.ts finds expired ones.
import { type CreateUploadOutcome, decideUpload, type NewUpload, type Upload } from '../../../core/files/upload.ts'
import type { PageRequest } from '../../../core/page.ts'
import { uploadColumns } from '../../rows.ts'
import type { Database, Transaction } from '../connection.ts'
import { readPage } from '../pages.ts'
import type { Writing } from '../writing.ts'

export async function createUpload(tx: Writing, upload: NewUpload, maxStored: number): Promise<CreateUploadOutcome> {
  const { accountId, sha256, reuse } = upload
  // Uploads of an account take turns, so that together they stay within its space.
  const locked = tx.rows('SELECT 1 FROM accounts WHERE account_id = :accountId FOR NO KEY UPDATE', { accountId })
  const same = reuse
    ? tx.row<Upload>(
        `SELECT ${uploadColumns} FROM files WHERE account_id = :accountId AND sha256 = :sha256 AND gone = 0
         ORDER BY file_id DESC LIMIT 1`,
        { accountId, sha256 },
      )
    : undefined
  const [stored, nowMs, found] = await Promise.all([measure(tx, accountId), tx.nowMs(), same, locked])
  const decided = decideUpload(upload, { stored, maxStored, same: found }, nowMs)
  if (decided.outcome === 'created')
    tx.send(
      `INSERT INTO files (file_id, account_id, key, content_type, bytes, sha256, created_at, expires_at)
       VALUES (:fileId, :accountId, :key, :contentType, :bytes, :sha256, :createdAtMs, :expiresAtMs)`,
      { ...decided.upload },
    )
  return decided
}

export async function deleteUpload(tx: Writing, accountId: string, fileId: string): Promise<boolean> {
  const now = await tx.nowMs()
  const gone = await tx.change(
    `UPDATE files SET gone = 1, removal_at = 0, expires_at = greatest(:now, created_at + 1)
     WHERE file_id = :fileId AND account_id = :accountId AND gone = 0 AND expires_at > :now`,
    { accountId, fileId, now },
  )
  return gone > 0
}

export function createUploadReads(db: Database) {
  const listing = { columns: uploadColumns, from: 'files', order: 'file_id' }
  const live = ['account_id = :accountId', 'gone = 0', 'expires_at > now_ms(:held)']
  return {
    async getUpload(accountId: string, fileId: string): Promise<Upload | null> {
      const sql = `SELECT ${uploadColumns} FROM files WHERE file_id = :fileId AND ${live.join(' AND ')}`
      return (await db.row<Upload>(sql, { accountId, fileId })) ?? null
    },
    listUploads: (accountId: string, page: PageRequest) => readPage<Upload>(db, listing, live, { accountId }, page),
    measureUploads: (accountId: string) => measure(db, accountId),
  }
}

async function measure(db: Pick<Transaction, 'row'>, accountId: string): Promise<number> {
  const sql = 'SELECT bytes FROM upload_totals WHERE account_id = :accountId'
  return (await db.row<{ bytes: number }>(sql, { accountId }))?.bytes ?? 0
}
