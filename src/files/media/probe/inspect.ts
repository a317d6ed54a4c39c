// Inspects an output: its type, whether it can be decoded, its size, and its preview.

import { digest } from '../digest.ts'
import { invalidOutput } from '../invalid-output.ts'
import { findKind, type Kind } from '../kinds.ts'
import { readProvenance } from '../provenance/read.ts'
import type { Inspection, InspectRequest } from './inspection.ts'
import { inspectPicture } from './pictures/picture.ts'
import { toBlurhash, writePreview } from './pictures/preview.ts'

/**
 * Inspects a file.
 * @throws EngineError `output_invalid` when it may not be served or cannot be decoded
 */
export async function inspectOutput(request: InspectRequest): Promise<Inspection> {
  const { path, name, previewPath, bounds } = request
  const type = await recogniseOutput(path, name)
  const { preview, isPicture, metadata, ...seen } = type.contentType.startsWith('image/')
    ? { ...type, ...(await inspectPicture(path, name, toSharpFormat(type), bounds)) }
    : // What reads recordings takes longer to load than most pictures take to decode.
      await (await import('./films/recording.ts')).inspectRecording(request, type)
  if (preview) await writePreview(preview, previewPath)
  // Further digits are rounding errors: Matroska counts milliseconds, and rounds where a packet begins and how long it is.
  const digits = ['webm', 'mkv', 'mka'].includes(seen.extension) ? 100 : 1000
  const durationSeconds = seen.durationSeconds === null ? null : Math.round(seen.durationSeconds * digits) / digits
  const blurhash = preview && isPicture ? await toBlurhash(preview) : null
  const provenance = await readProvenance(path, type.contentType, metadata)
  return { ...seen, durationSeconds, ...(await digest(path)), hasPreview: preview !== null, blurhash, provenance }
}

/** @throws EngineError `output_invalid` for what is no image, video or sound, SVG and HTML included, and for what is something else too */
async function recogniseOutput(path: string, name: string): Promise<Kind> {
  const { kind, type, also } = await findKind(path)
  if (kind === null)
    throw invalidOutput(
      name,
      type === null
        ? 'is of an unknown type; it must be an image, a video or a sound'
        : `is ${type}, which is not served`,
    )
  if (also !== null) throw invalidOutput(name, `is ${kind.contentType} and ${also} at the same time`)
  return kind
}

function toSharpFormat({ contentType }: Kind): string {
  return contentType === 'image/avif' ? 'heif' : contentType.replace('image/', '')
}
