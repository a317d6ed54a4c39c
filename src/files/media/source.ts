// Turns references into files: passes each to the reader of its kind, and recognises the result.
import { rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidMedia } from '@mediagen/engine/media.ts'
import type { MediaReader, MediaSource } from './reader.ts'
import type { Recogniser } from './recognise.ts'
import { mediaReferenceForm } from './reference.ts'

/**
 * Creates a source; the first reader that accepts a reference reads it.
 */
export function createMediaSource(readers: readonly MediaReader[], recognise: Recogniser): MediaSource {
  const find = (reference: string): MediaReader | undefined => readers.find((reader) => reader.accepts(reference))
  return {
    isRemote: (reference) => find(reference)?.remote === true,
    async fetch(request, folder, name) {
      const { field, reference, signal } = request
      const reader = find(reference)
      if (!reader) throw invalidMedia(field, mediaReferenceForm)
      const raw = join(folder, name)
      await reader.read(request, raw)
      signal.throwIfAborted()
      const { size: bytes } = await stat(raw)
      if (bytes === 0) throw invalidMedia(field, 'is empty')
      const { contentType, extension } = await recognise(raw, field)
      const path = `${raw}.${extension}`
      await rename(raw, path)
      return { path, contentType, bytes }
    },
  }
}
