// Uploads: recorded, read, and marked as gone. retention.ts finds expired ones.
import type { Page, PageRequest } from '../../core/page.ts'
import { type CreateUploadOutcome, leastCountedBytes, type Upload } from '../../core/upload.ts'
import type { Connection } from './connection.ts'
import { createPages, ofAccount } from './pages.ts'
import type { Writing } from './writing.ts'

const uploadColumns = `file_id AS fileId, account_id AS accountId, key, content_type AS contentType, bytes, sha256,
  created_at AS createdAtMs, expires_at AS expiresAtMs`

/** Creates the commands that change uploads. */
export function createUploadCommands({ db }: Writing) {
  const measure = createMeasure(db)
  const insert = db.prepare<Upload>(
    `INSERT INTO files (file_id, account_id, key, content_type, bytes, sha256, created_at, expires_at)
     VALUES (:fileId, :accountId, :key, :contentType, :bytes, :sha256, :createdAtMs, :expiresAtMs)`,
  )
  const markGone = db.prepare<[string, string, number]>(
    'UPDATE files SET gone = 1 WHERE file_id = ? AND account_id = ? AND gone = 0 AND expires_at > ?',
  )
  return {
    createUpload(upload: Upload, maxStored: number): CreateUploadOutcome {
      const stored = measure(upload.accountId)
      if (stored + Math.max(upload.bytes, leastCountedBytes) > maxStored) return { outcome: 'no_room', stored }
      insert.run(upload)
      return { outcome: 'created' }
    },
    deleteUpload: (accountId: string, fileId: string, nowMs: number): boolean =>
      markGone.run(fileId, accountId, nowMs).changes > 0,
  }
}

/** Creates the reads of uploads. */
export function createUploadReads(db: Connection) {
  const find = db.prepare<[string, string, number], Upload>(
    `SELECT ${uploadColumns} FROM files WHERE file_id = ? AND account_id = ? AND gone = 0 AND expires_at > ?`,
  )
  const pages = createPages<Upload>(db, uploadColumns, 'files', 'file_id')
  return {
    getUpload: (accountId: string, fileId: string, nowMs: number): Upload | null =>
      find.get(fileId, accountId, nowMs) ?? null,
    listUploads: (accountId: string, nowMs: number, page: PageRequest): Page<Upload> =>
      pages.read([...ofAccount(accountId), 'gone = 0', 'expires_at > :nowMs'], { accountId, nowMs }, page),
    measureUploads: createMeasure(db),
  }
}

function createMeasure(db: Connection): (accountId: string) => number {
  const find = db.prepare<[string], number>('SELECT bytes FROM upload_totals WHERE account_id = ?').pluck()
  return (accountId) => find.get(accountId) ?? 0
}
