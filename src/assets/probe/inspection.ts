// What is asked about an output, and what is learned of it.
import type { PictureBounds } from '@mediagen/engine/media.ts'

/** A file to look into. */
export interface InspectRequest {
  readonly path: string
  /** How messages call the file. */
  readonly name: string
  /** Where a preview is to be left. */
  readonly previewPath: string
  /** How large a picture, all its frames together, and a frame of a video may be. */
  readonly bounds: PictureBounds
  /** A program that decodes what is not decoded here; null for none. */
  readonly ffmpegPath: string | null
}

/** What was learned. */
export interface Inspection {
  readonly contentType: string
  /** Usual file name extension, without a dot. */
  readonly extension: string
  readonly width: number | null
  readonly height: number | null
  readonly durationSeconds: number | null
  readonly bytes: number
  /** Lower-case hexadecimal. */
  readonly sha256: string
  /** Whether a preview was left. */
  readonly hasPreview: boolean
  readonly blurhash: string | null
}
