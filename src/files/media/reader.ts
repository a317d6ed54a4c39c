// The ports that turn references to media into files.
import type { EngineError } from '@mediagen/engine/engine.ts'
import { invalidMedia } from '@mediagen/engine/media.ts'

/** A reference to fetch. */
export interface MediaRequest {
  readonly reference: string
  /** How messages name the field, for example `image` or `images[0]`. */
  readonly field: string
  /** The account of the job, because uploads belong to accounts. */
  readonly accountId: string
  /** Maximum bytes of all files of the job together. */
  readonly maxBytes: number
  /**
   * Reserves bytes of that maximum before they are written, because files of one job may be read concurrently.
   * @throws EngineError `invalid_media` when too few are left
   */
  readonly take: (bytes: number) => void
  /** Aborts when the job is canceled or its time is up; reading then rejects soon. */
  readonly signal: AbortSignal
}

/** A local file whose content was recognised: an image, a video or a sound. */
export interface MediaFile {
  /** Absolute path; the extension is the usual one of the content type. */
  readonly path: string
  /** Detected from the content, not from a name or header. */
  readonly contentType: string
  readonly bytes: number
}

/** Turns references into files. */
export interface MediaSource {
  /** Whether fetching waits for other servers, not only for this machine. */
  isRemote(reference: string): boolean
  /**
   * Fetches the file of a reference.
   * @param folder where the file is left; it belongs to the run
   * @param name of the file, without an extension
   * @throws EngineError `invalid_media` or `media_unavailable`, with a message that names the field
   */
  fetch(request: MediaRequest, folder: string, name: string): Promise<MediaFile>
}

/** Reads one kind of reference; a source is made of several. */
export interface MediaReader {
  /** Whether reading waits for other servers. Default: false. */
  readonly remote?: boolean
  /** Whether a reference is of this kind. */
  accepts(reference: string): boolean
  /**
   * Writes the bytes to `path`, where no file exists yet. The caller checks their content.
   * @throws EngineError `invalid_media` or `media_unavailable`, with a message that names the field
   */
  read(request: MediaRequest, path: string): Promise<void>
}

/** The refusal of a file with more bytes than are left. */
export function mediaTooLarge({ field, maxBytes }: Pick<MediaRequest, 'field' | 'maxBytes'>): EngineError {
  return invalidMedia(field, `is too large: all media of a job may have ${maxBytes} bytes together`)
}
