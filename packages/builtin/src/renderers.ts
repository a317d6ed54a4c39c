// The renderers by name. Only names are known here; what they import is loaded by the process that renders.

import type { Renderer } from './renderer.ts'

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
