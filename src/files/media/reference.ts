// Media in inputs: the form of a reference.

/** A value of an input whose schema says `format: media`, with its pointer. */
export interface MediaReference {
  /** JSON pointer (RFC 6901) into the input, for example `/image` or `/images/0`. */
  readonly pointer: string
  readonly reference: string
}

/** The form of a reference, as a violation says it. */
export const mediaReferenceForm = 'must be a data: URI, an http(s) URL or the id of an upload'

/** Whether a text has the form of a media reference; the file need not exist. */
export function isMediaReference(text: string): boolean {
  return /^data:/i.test(text) || isUploadId(text) || (/^https?:\/\//i.test(text) && URL.canParse(text))
}

/** Whether a text has the form of an upload id; the upload need not exist. */
export function isUploadId(text: string): boolean {
  return /^file_[0-9a-hj-kmnp-tv-z]{26}$/.test(text)
}
