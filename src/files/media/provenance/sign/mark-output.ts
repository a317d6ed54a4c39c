// Marks an output: the digital source type in XMP.
import { readFile, writeFile } from 'node:fs/promises'
import { EngineError } from '@mediagen/engine/engine.ts'
import sharp from 'sharp'
import { digest } from '../../digest.ts'
import { readProvenance } from '../read.ts'
import { mark, toPacket } from './mark.ts'
import { type ChangedFile, iptc, type MarkRequest } from './request.ts'

/**
 * Makes a marked copy of a picture.
 * @returns null if it has XMP already, which stays as it is
 * @throws EngineError `not_marked` that says why it cannot be marked
 */
export async function markOutput(request: MarkRequest): Promise<ChangedFile | null> {
  const { path, changedPath, contentType, sourceType } = request
  const { xmp, exif } = await sharp(path).metadata()
  if (xmp) return null
  const packet = toPacket(iptc + sourceType)
  const marked = mark(await readFile(path), packet, request)
  // What was paid for is not replaced by a copy that cannot be read.
  await sharp(marked, { failOn: 'error' })
    .stats()
    .catch((cause: Error) => {
      throw new EngineError('not_marked', `the mark would break the picture: ${cause.message}`, false, { cause })
    })
  await writeFile(changedPath, marked)
  const provenance = await readProvenance(changedPath, contentType, { xmp: packet, exif })
  return { ...(await digest(changedPath)), provenance }
}
