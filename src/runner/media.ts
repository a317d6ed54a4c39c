// The media of a run: every reference in its input becomes a file before the engine begins.
import { mkdir } from 'node:fs/promises'
import { EngineError } from '../core/engine.ts'
import { type MediaReference, type MediaSource, toFieldName } from '../core/media.ts'

/** So many files an input may refer to, whatever its schema allows. */
const maxReferences = 100

/** What is fetched for a run, and for whom. */
export interface MediaTask {
  readonly references: readonly MediaReference[]
  readonly accountId: string
  /** Where the files are left; made when there are any. */
  readonly folder: string
  /** Most bytes of all files together. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/**
 * Fetches one file after the other; equal references are fetched once.
 * @returns absolute paths by JSON pointer
 * @throws EngineError in words that name the field
 */
export async function fetchMedia(source: MediaSource, task: MediaTask): Promise<ReadonlyMap<string, string>> {
  const { references, accountId, folder, signal } = task
  const media = new Map<string, string>()
  if (references.length === 0) return media
  if (references.length > maxReferences)
    throw new EngineError('invalid_media', `The input refers to more than ${maxReferences} files.`)
  await mkdir(folder, { recursive: true })
  const fetched = new Map<string, string>()
  let maxBytes = task.maxBytes
  for (const { pointer, reference } of references) {
    let path = fetched.get(reference)
    if (path === undefined) {
      const request = { reference, field: toFieldName(pointer), accountId, maxBytes, signal }
      const file = await source.fetch(request, folder, String(fetched.size))
      maxBytes -= file.bytes
      fetched.set(reference, (path = file.path))
    }
    media.set(pointer, path)
  }
  return media
}
