// Uploads: files that accounts upload as inputs of their generations, and the ports to their storage.
import type { Page, PageRequest } from '../page.ts'

/** An uploaded file, as the store keeps it. Times are milliseconds since 1970. */
export interface Upload {
  /** `file_…` */
  readonly fileId: string
  readonly accountId: string
  /** Its key among the blobs, for example `file_01jd…/0.png`. */
  readonly key: string
  /** Media type, detected from the content. */
  readonly contentType: string
  readonly bytes: number
  /** Lower-case hexadecimal SHA-256. */
  readonly sha256: string
  readonly createdAtMs: number
  /** From this moment on it does not exist for clients. */
  readonly expiresAtMs: number
}

/** Many small files can fill a disk too, so each counts as at least this many bytes. */
export const leastCountedBytes = 65_536

/** An upload before it is recorded. */
export interface NewUpload extends Omit<Upload, 'createdAtMs' | 'expiresAtMs'> {
  /** How long it is kept. */
  readonly retainMs: number
  /** Whether the newest upload of the account with the same bytes, kept for at least half as long, is taken in its place. */
  readonly reuse?: boolean
}

export type CreateUploadOutcome =
  | { readonly outcome: 'created' | 'reused'; readonly upload: Upload }
  /** The account has no space for this many bytes; `stored` is what its uploads take now. */
  | { readonly outcome: 'no_room'; readonly stored: number }

/**
 * Decides whether an upload is recorded when those of its account take `stored` bytes of at most `maxStored`.
 * @param same the newest of its account with the same bytes
 */
export function decideUpload(
  { retainMs, reuse = false, ...file }: NewUpload,
  { stored, maxStored, same }: { stored: number; maxStored: number; same: Upload | undefined },
  nowMs: number,
): CreateUploadOutcome {
  if (reuse && same && same.expiresAtMs - nowMs >= retainMs / 2) return { outcome: 'reused', upload: same }
  if (stored + Math.max(file.bytes, leastCountedBytes) > maxStored) return { outcome: 'no_room', stored }
  // Whole seconds, because the signed URL of the file has whole seconds too.
  const expiresAtMs = Math.floor((nowMs + retainMs) / 1000) * 1000
  return { outcome: 'created', upload: { ...file, createdAtMs: nowMs, expiresAtMs } }
}

/** The records of uploads. */
export interface UploadStore {
  /** Records a durable file if the uploads of its account then take at most `maxStored` bytes; with `reuse` perhaps an earlier one. */
  createUpload(upload: NewUpload, maxStored: number): Promise<CreateUploadOutcome>
  /** Null if the account has no such upload, or if it has expired. */
  getUpload(accountId: string, fileId: string): Promise<Upload | null>
  /** The newest first. */
  listUploads(accountId: string, page: PageRequest): Promise<Page<Upload>>
  /** Marks the upload as gone; its file is removed afterwards. False if there is none. */
  deleteUpload(accountId: string, fileId: string): Promise<boolean>
  /** Bytes that the uploads of an account take, each at least `leastCountedBytes`, until their files are removed. */
  measureUploads(accountId: string): Promise<number>
}

/** A file that was received and is durable. */
export type ReceivedFile = Pick<Upload, 'key' | 'contentType' | 'bytes' | 'sha256'>

/** The storage of uploaded files. */
export interface UploadFiles {
  /**
   * Writes a file chunk by chunk, requesting each only after the last was written, and recognises it. Durable when it resolves;
   * nothing remains if it rejects.
   * @throws MediagenError `invalid_media` for anything but an image, a video or a sound; `invalid_request` when it is empty;
   *   whatever `chunks` throws
   */
  receive(fileId: string, chunks: AsyncIterable<Uint8Array>): Promise<ReceivedFile>
  /** Removes a received file. Ignores a missing one. */
  remove(fileId: string): Promise<void>
}
