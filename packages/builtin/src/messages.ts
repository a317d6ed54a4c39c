// What the server asks of a renderer process.

import type { JsonObject } from '@mediagen/engine/engine.ts'

/** Render this. */
export interface RenderRequest {
  readonly renderer: string
  /** Valid by the model's schema, defaults applied. */
  readonly input: JsonObject
  /** Absolute paths of the files that the input refers to, by JSON pointer. */
  readonly media: Readonly<Record<string, string>>
  /** Where the outputs are to be left. */
  readonly folder: string
  /** Path of an ffmpeg that can encode films; null for none. A render process has no environment to look into. */
  readonly ffmpeg: string | null
}
