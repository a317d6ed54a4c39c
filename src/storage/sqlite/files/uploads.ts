// Uploads: recorded, read, and marked as gone. retention.ts finds expired ones.
import { type CreateUploadOutcome, decideUpload, type NewUpload, type Upload } from '../../../core/files/upload.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { uploadColumns } from '../../rows.ts'
import type { Connection } from '../connection.ts'
import { createPages, ofAccount } from '../pages.ts'
import type { Writing } from '../threads/writing.ts'

export function createUploadCommands({ db, nowMs }: Writing) {
  const measure = createMeasure(db)
  const insert = db.prepare<Upload>(
    `INSERT INTO files (file_id, account_id, key, content_type, bytes, sha256, created_at, expires_at)
     VALUES (:fileId, :accountId, :key, :contentType, :bytes, :sha256, :createdAtMs, :expiresAtMs)`,
  )
  const findSame = db.prepare<[string, string], Upload>(
    `SELECT ${uploadColumns} FROM files WHERE account_id = ? AND sha256 = ? AND gone = 0 ORDER BY file_id DESC LIMIT 1`,
  )
  const markGone = db.prepare<{ accountId: string; fileId: string; now: number }>(
    `UPDATE files SET gone = 1, removal_at = 0, expires_at = max(:now, created_at + 1)
     WHERE file_id = :fileId AND account_id = :accountId AND gone = 0 AND expires_at > :now`,
  )
  return {
    createUpload(upload: NewUpload, maxStored: number): CreateUploadOutcome {
      const { accountId, sha256, reuse } = upload
      const same = reuse ? findSame.get(accountId, sha256) : undefined
      const decided = decideUpload(upload, { stored: measure(accountId), maxStored, same }, nowMs())
      if (decided.outcome === 'created') insert.run(decided.upload)
      return decided
    },
    deleteUpload: (accountId: string, fileId: string): boolean =>
      markGone.run({ accountId, fileId, now: nowMs() }).changes > 0,
  }
}

export function createUploadReads(db: Connection, nowMs: () => number) {
  const find = db.prepare<[string, string, number], Upload>(
    `SELECT ${uploadColumns} FROM files WHERE file_id = ? AND account_id = ? AND gone = 0 AND expires_at > ?`,
  )
  const pages = createPages<Upload>(db, uploadColumns, 'files', 'file_id')
  return {
    getUpload: (accountId: string, fileId: string): Upload | null => find.get(fileId, accountId, nowMs()) ?? null,
    listUploads: (accountId: string, page: PageRequest): Page<Upload> =>
      pages.read([...ofAccount(accountId), 'gone = 0', 'expires_at > :now'], { accountId, now: nowMs() }, page),
    measureUploads: createMeasure(db),
  }
}

function createMeasure(db: Connection): (accountId: string) => number {
  const find = db.prepare<[string], number>('SELECT bytes FROM upload_totals WHERE account_id = ?').pluck()
  return (accountId) => find.get(accountId) ?? 0
}
