// Uploads: files that accounts hand in for the inputs of their generations, and the ports to where they are kept.
import type { Page, PageRequest } from './page.ts'

/** An uploaded file, as the store keeps it. Times are milliseconds since 1970. */
export interface Upload {
  /** `file_…` */
  readonly fileId: string
  readonly accountId: string
  /** Where it lives below the root of the assets, for example `file_01jd…/0.png`. */
  readonly key: string
  /** Media type found by content. */
  readonly contentType: string
  readonly bytes: number
  /** Lower-case hexadecimal SHA-256. */
  readonly sha256: string
  readonly createdAtMs: number
  /** From this moment on it is as if it had never been there. */
  readonly expiresAtMs: number
}

/** Small files fill a disk by their number: each counts as so many bytes at least. */
export const leastCountedBytes = 65_536

export type CreateUploadOutcome =
  | { readonly outcome: 'created' }
  /** The account has no room for so many bytes; `stored` is what its uploads take by now. */
  | { readonly outcome: 'no_room'; readonly stored: number }

/** Where the records of uploads live. */
export interface UploadStore {
  /** Writes down a file that is durable already, if the uploads of its account take at most `maxStored` bytes with it. */
  createUpload(upload: Upload, maxStored: number): Promise<CreateUploadOutcome>
  /** Null when the account has no such upload, or it has expired by `nowMs`. */
  getUpload(accountId: string, fileId: string, nowMs: number): Promise<Upload | null>
  /** The newest first. */
  listUploads(accountId: string, nowMs: number, page: PageRequest): Promise<Page<Upload>>
  /** Says that the upload is gone; its file is removed afterwards. False when there is none. */
  deleteUpload(accountId: string, fileId: string, nowMs: number): Promise<boolean>
  /** Bytes that the uploads of an account take, each at least `leastCountedBytes`, until their files are removed. */
  measureUploads(accountId: string): Promise<number>
}

/** A file that was received and is durable. */
export type ReceivedFile = Pick<Upload, 'key' | 'contentType' | 'bytes' | 'sha256'>

/** Where the files of uploads live. */
export interface UploadFiles {
  /**
   * Writes a file piece by piece, none asked for before the last is written, and recognises it. Durable when it resolves;
   * nothing is left when it rejects.
   * @throws MediagenError `invalid_media` for anything but an image, a video or a sound; `invalid_request` when it is empty;
   *   whatever `chunks` throws
   */
  receive(fileId: string, chunks: AsyncIterable<Uint8Array>): Promise<ReceivedFile>
  /** Removes what was received. Quiet about what is not there. */
  remove(fileId: string): Promise<void>
}
