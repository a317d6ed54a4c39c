// The renderers by name. Only names are known here; what they import is loaded by the process that renders.

import type { JsonObject, Usage } from '@mediagen/engine/engine.ts'
import type { PictureBounds } from '@mediagen/engine/media.ts'

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

const loaders = {
  poster: async (): Promise<Renderer> => (await import('./poster/poster.ts')).renderPoster,
  art: async (): Promise<Renderer> => (await import('./art/art.ts')).renderArt,
  edit: async (): Promise<Renderer> => (await import('./edit/edit.ts')).renderEdit,
  upscale: async (): Promise<Renderer> => (await import('./upscale/upscale.ts')).renderUpscale,
  kenburns: async (): Promise<Renderer> => (await import('./kenburns/kenburns.ts')).renderKenBurns,
  slideshow: async (): Promise<Renderer> => (await import('./slideshow/slideshow.ts')).renderSlideshow,
  motion: async (): Promise<Renderer> => (await import('./motion/motion.ts')).renderMotion,
  speech: async (): Promise<Renderer> => (await import('./speech/speech.ts')).renderSpeech,
  narrated: async (): Promise<Renderer> => (await import('./narrated/narrated.ts')).renderNarrated,
  music: async (): Promise<Renderer> => (await import('./music/music.ts')).renderMusic,
}

/** The name of a renderer. */
export type RendererName = keyof typeof loaders

/** Every renderer there is. */
export const rendererNames = Object.keys(loaders) as readonly RendererName[]

/** Whether `name` is the name of a renderer. */
export function isRendererName(name: unknown): name is RendererName {
  return typeof name === 'string' && Object.hasOwn(loaders, name)
}

/** Imports a renderer with all that it needs; the first call takes a fraction of a second. */
export function loadRenderer(name: RendererName): Promise<Renderer> {
  return loaders[name]()
}
