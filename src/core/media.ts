// Media that is handed in: what a reference in an input looks like, and the ports that turn references into files.
import { invalidMedia } from '@mediagen/engine/media.ts'
import type { EngineError } from '@mediagen/engine/engine.ts'
import { isId } from './ids.ts'

/** A place of an input whose schema says `format: media`, and what stands there. */
export interface MediaReference {
  /** JSON pointer (RFC 6901) into the input, for example `/image` or `/images/0`. */
  readonly pointer: string
  readonly reference: string
}

/** One reference that is to become a file. */
export interface MediaRequest {
  readonly reference: string
  /** How messages name the place, for example `image` or `images[0]`. */
  readonly field: string
  /** Whose job it is: uploads belong to accounts. */
  readonly accountId: string
  /** Most bytes of all files of the job together. */
  readonly maxBytes: number
  /**
   * Takes bytes of those, before they are written: files of one job may be read at the same time.
   * @throws EngineError `invalid_media` when there are not so many left
   */
  readonly take: (bytes: number) => void
  /** Aborts when the job is no longer wanted or its time is over; reading then ends soon, by rejecting. */
  readonly signal: AbortSignal
}

/** A local file whose content was recognised: an image, a video or a sound. */
export interface MediaFile {
  /** Absolute path; the extension is the usual one of the content type. */
  readonly path: string
  /** Found by content, whatever anybody said of it. */
  readonly contentType: string
  readonly bytes: number
}

/** Turns references into files. */
export interface MediaSource {
  /** Whether fetching waits for servers of strangers, rather than for this machine alone. */
  isRemote(reference: string): boolean
  /**
   * Fetches what a reference leads to.
   * @param folder where the file is left; it belongs to the run
   * @param name of the file, without an extension
   * @throws EngineError `invalid_media` or `media_unavailable`, in words that name the field
   */
  fetch(request: MediaRequest, folder: string, name: string): Promise<MediaFile>
}

/** Reads one kind of reference; a source is made of several. */
export interface MediaReader {
  /** Whether reading waits for servers of strangers. Default: false. */
  readonly remote?: boolean
  /** Whether a reference is of this kind. */
  accepts(reference: string): boolean
  /**
   * Leaves the bytes at `path`, where there is no file yet. Their content is checked by the caller.
   * @throws EngineError `invalid_media` or `media_unavailable`, in words that name the field
   */
  read(request: MediaRequest, path: string): Promise<void>
}

/** What a reference must look like, as a violation says it. */
export const mediaReferenceForm = 'must be a data: URI, an http(s) URL or the id of an upload'

/** Whether a text has the form of a reference to media; it may still lead nowhere. */
export function isMediaReference(text: string): boolean {
  return /^data:/i.test(text) || isUploadId(text) || (/^https?:\/\//i.test(text) && URL.canParse(text))
}

/** Whether a text is the id of an upload; there may be none. */
export function isUploadId(text: string): boolean {
  return isId('file', text)
}

/** The refusal of a file that has more bytes than are left for it. */
export function mediaTooLarge({ field, maxBytes }: Pick<MediaRequest, 'field' | 'maxBytes'>): EngineError {
  return invalidMedia(field, `is too large: all media of a job may have ${maxBytes} bytes together`)
}
