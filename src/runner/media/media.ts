// The media of a run: every reference in its input becomes a file before the engine starts.
import { mkdir } from 'node:fs/promises'
import { EngineError } from '@mediagen/engine/engine.ts'
import { toFieldName } from '@mediagen/engine/media.ts'
import { type MediaRequest, type MediaSource, mediaTooLarge } from '../../files/media/reader.ts'
import type { MediaReference } from '../../files/media/reference.ts'

/** Maximum number of files in an input, whatever its schema allows. */
const maxReferences = 100
/** Files of one run that are fetched concurrently. */
const filesAtOnce = 4

/** The media to fetch for a run. */
export interface MediaTask {
  readonly references: readonly MediaReference[]
  readonly accountId: string
  /** Folder for the files; created if there are any. */
  readonly folder: string
  /** Maximum bytes of all files together. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/**
 * Fetches a few files at a time; equal references are fetched once. The first failure stops the others.
 * @returns absolute paths by JSON pointer, in the order of the references
 * @throws EngineError whose message names the field
 */
export async function fetchMedia(source: MediaSource, task: MediaTask): Promise<ReadonlyMap<string, string>> {
  const { references, folder } = task
  if (references.length === 0) return new Map()
  if (references.length > maxReferences)
    throw new EngineError('invalid_media', `The input refers to more than ${maxReferences} files.`)
  await mkdir(folder, { recursive: true })
  const toRequest = createRequests(task)
  // A file is named after the first place that refers to it.
  const wanted = new Map<string, string>()
  for (const { pointer, reference } of references)
    if (!wanted.has(reference)) wanted.set(reference, toFieldName(pointer))
  const fetched = new Map<string, string>()
  const left = [...wanted].entries()
  const failed = new AbortController()
  const fetchNext = async (): Promise<void> => {
    for (const [index, [reference, field]] of left) {
      if (failed.signal.aborted) return
      const { path } = await source.fetch(toRequest(reference, field, failed.signal), folder, String(index))
      fetched.set(reference, path)
    }
  }
  const fetching = Array.from({ length: filesAtOnce }, () =>
    fetchNext().catch((error: unknown) => {
      // Later failures are caused by the first one.
      failed.abort(error)
    }),
  )
  await Promise.all(fetching)
  failed.signal.throwIfAborted()
  return new Map(references.map(({ pointer, reference }) => [pointer, fetched.get(reference) as string]))
}

function createRequests(task: MediaTask): (reference: string, field: string, failed: AbortSignal) => MediaRequest {
  const { accountId, maxBytes } = task
  let bytesLeft = maxBytes
  return (reference, field, failed) => ({
    reference,
    field,
    accountId,
    maxBytes,
    take(bytes) {
      bytesLeft -= bytes
      if (bytesLeft < 0) throw mediaTooLarge({ field, maxBytes })
    },
    signal: AbortSignal.any([task.signal, failed]),
  })
}
