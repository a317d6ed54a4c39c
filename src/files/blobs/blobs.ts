// Blobs: the port to the files of this service (outputs, previews, uploads). A disk or an object store is behind it.
import { findContentType } from '@mediagen/engine/content-types.ts'

export interface StoredBlob {
  /** Its name, for example `job_01jd…/0.png`. The part before the first slash names its owner, such as a run. */
  readonly key: string
  readonly bytes: number
  /** When it was stored, by the clock of the store, in milliseconds since 1970. */
  readonly storedAtMs: number
}

/** The content of a new blob: bytes, or a local file that is handed over: it is moved or removed. */
export type BlobSource = AsyncIterable<Uint8Array> | { readonly file: string }

export interface PutBlobOptions {
  readonly signal?: AbortSignal | undefined
  /**
   * How long a step of it is repeated while the store is in trouble or refuses this service, in milliseconds. Default: as the store
   * was opened, and a refusal is not repeated.
   */
  readonly patienceMs?: number | undefined
  /** Receives the reason each time a step is repeated. */
  readonly onTrouble?: ((error: unknown) => void) | undefined
}

/** A part of a blob: the bytes from `start` through `end`, counted from 0. Both are within the blob. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** The content of a blob. Destroying it releases what it holds open. */
export type BlobContent = NodeJS.ReadableStream & { destroy(): void }

/**
 * The files. A blob is visible only when it is complete and durable, and its content never changes. There are no folders: a key
 * is a name, and a slash in it is a character like any other.
 */
export interface Blobs {
  /**
   * Stores a blob, durably when this resolves; it replaces one of the same key. Nothing is visible if it rejects.
   * @param key see `isBlobKey`
   * @throws TypeError for any other key
   */
  put(key: string, source: BlobSource, options?: PutBlobOptions): Promise<void>
  /**
   * Stores local files together, which costs less than one by one. If it rejects, no file is still being stored, but some may be
   * visible.
   * @param files paths by key
   * @throws TypeError for anything but a key; the first failure otherwise
   */
  putFiles(files: ReadonlyMap<string, string>, options?: PutBlobOptions): Promise<void>
  /** The facts of a blob; null if there is none. */
  stat(key: string): Promise<StoredBlob | null>
  /** The content, or a part of it; null if there is no such blob. A reader can finish even if the blob is deleted meanwhile. */
  open(key: string, range?: ByteRange): Promise<BlobContent | null>
  /**
   * Writes a private copy to a local path where no file exists yet: changing it does not change the blob.
   * @param take receives the number of bytes before any is written, and throws to refuse them
   * @returns false if there is no such blob
   */
  copyTo(key: string, path: string, take?: (bytes: number) => void): Promise<boolean>
  /** All blobs whose keys begin with `prefix`; keys that are equal up to a slash follow each other. */
  list(prefix: string): AsyncIterable<StoredBlob>
  /**
   * Deletes blobs; ignores missing ones.
   * @throws the first failure, after all others were deleted
   */
  delete(keys: readonly string[]): Promise<void>
  /** A URL of the store itself from which anyone can read the blob for `ms`; null if the store serves none. */
  sign(key: string, ms: number): Promise<string | null>
}

/** Whether a text can be a key: segments of letters, digits and `._-`, separated by slashes, none of them `.` or `..`. */
export function isBlobKey(text: string): boolean {
  return text.length <= 500 && /^[A-Za-z0-9_][\w.-]*(\/(?!\.{1,2}(\/|$))[\w.-]+)+$/.test(text)
}

/** Deletes all blobs whose keys begin with `prefix`. */
export async function deleteAll(blobs: Pick<Blobs, 'list' | 'delete'>, prefix: string): Promise<void> {
  const keys: string[] = []
  for await (const { key } of blobs.list(prefix)) keys.push(key)
  if (keys.length > 0) await blobs.delete(keys)
}

/** The media type of a blob, from the extension of its key. */
export function contentTypeOf(key: string): string {
  return findContentType(key) ?? 'application/octet-stream'
}
