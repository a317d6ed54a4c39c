// The request to inspect an output, and its result.
import type { PictureBounds } from '@mediagen/engine/media.ts'
import type { Provenance } from '../../../core/files/provenance.ts'

/** The request to check the manifest of a file: apart from the rest, because it may crash the library. */
export interface VerifyRequest {
  readonly verify: { readonly path: string; readonly contentType: string }
}

export interface InspectRequest {
  readonly path: string
  /** Name of the file in messages. */
  readonly name: string
  /** Path for the preview. */
  readonly previewPath: string
  /** How large a picture, and a frame of an animation or a video, may be. */
  readonly bounds: PictureBounds
  /** An FFmpeg for codecs that no package decodes; null for none. */
  readonly ffmpegPath: string | null
}

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
  /** Whether a preview was written. */
  readonly hasPreview: boolean
  readonly blurhash: string | null
  readonly provenance: Provenance
}
