// Inspects an output: its type, whether it can be decoded, its size, and its preview.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Inspection, InspectRequest } from './inspection.ts'
import { recogniseKind } from './kind.ts'
import { inspectPicture } from './picture.ts'
import { toBlurhash, writePreview } from './preview.ts'

/**
 * Inspects a file.
 * @throws EngineError `output_invalid` when it may not be served or cannot be decoded
 */
export async function inspectOutput(request: InspectRequest): Promise<Inspection> {
  const { path, name, previewPath, bounds } = request
  const { picture, ...type } = await recogniseKind(path, name)
  const { preview, isPicture, ...seen } = picture
    ? { ...type, ...(await inspectPicture(path, name, picture, bounds)) }
    : // What reads recordings takes longer to load than most pictures take to decode.
      await (await import('./recording.ts')).inspectRecording(request, type)
  if (preview) await writePreview(preview, previewPath)
  // Digits beyond milliseconds are rounding errors.
  const durationSeconds = seen.durationSeconds === null ? null : Math.round(seen.durationSeconds * 1000) / 1000
  const blurhash = preview && isPicture ? await toBlurhash(preview) : null
  return { ...seen, durationSeconds, ...(await digest(path)), hasPreview: preview !== null, blurhash }
}

async function digest(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    hash.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  return { bytes, sha256: hash.digest('hex') }
}
