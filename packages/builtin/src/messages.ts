// The requests of the server to a render process.

import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { PictureBounds } from '@mediagen/engine/media.ts'

/** Render this. */
export interface RenderRequest {
  readonly renderer: string
  /** Valid by the model's schema, defaults applied. */
  readonly input: JsonObject
  /** Absolute paths of the files that the input refers to, by JSON pointer. */
  readonly media: Readonly<Record<string, string>>
  /** How large a picture among them may be. */
  readonly bounds: PictureBounds
  /** Where the outputs are to be left. */
  readonly folder: string
  /** Path of an ffmpeg that can encode films; null for none. A render process has no environment to look into. */
  readonly ffmpeg: string | null
}
