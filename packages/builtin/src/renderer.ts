// The interface of renderers: from an input and the files that it refers to, a renderer makes one file.

import type { JsonObject, Usage } from '@mediagen/engine/engine.ts'
import type { PictureBounds } from '@mediagen/engine/media.ts'
import type { Sharp } from 'sharp'

/** One picture (or sound, or film) to be made. */
export interface RenderTask {
  /** Valid by the model's schema, defaults applied. */
  readonly input: JsonObject
  /** Absolute paths of the files that the input refers to, by JSON pointer; see media-input.ts. */
  readonly media: ReadonlyMap<string, string>
  /** How large a picture among them may be. */
  readonly bounds: PictureBounds
  /** Where the renderer leaves its bytes; the caller gives the file its final name. */
  readonly file: string
  /** Path of an ffmpeg that can encode films; null where the encoders that ship do it. */
  readonly ffmpeg: string | null
  /** Reports how far it is, 0 … 1. */
  readonly onProgress: (fraction: number) => void
  /** Shows a draft, a first frame or the picture before it is encoded; missing where nobody looks. */
  readonly onDraft?: (picture: Sharp) => Promise<void>
}

/** What was made. */
export interface Rendered {
  /** Of the file, without the dot. */
  readonly extension: string
  readonly usage: Usage
}

/**
 * Makes one file from an input; the same input gives the same bytes.
 * @throws EngineError when the input cannot be rendered.
 */
export type Renderer = (task: RenderTask) => Promise<Rendered>
