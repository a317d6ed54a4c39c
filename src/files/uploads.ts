// Uploaded files: the blobs <file id>/0.<extension>. They are written to the local disk as they arrive, to be recognised there.
import { createHash } from 'node:crypto'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '@mediagen/engine/engine.ts'
import { MediagenError } from '../core/errors.ts'
import type { ReceivedFile, UploadFiles } from '../core/files/upload.ts'
import { type Blobs, deleteAll } from './blobs/blobs.ts'

export interface UploadFilesOptions {
  /** Where uploads are stored. */
  readonly blobs: Blobs
  /** Folder for incomplete uploads; created if missing. */
  readonly intake: string
  /** Recognises the content of a file; throws EngineError `invalid_media` if it is not accepted. */
  readonly recognise: (path: string, name: string) => Promise<{ contentType: string; extension: string }>
}

/** Creates the port; it need not be closed. */
export function createUploadFiles({ blobs, intake, recognise }: UploadFilesOptions): UploadFiles {
  return {
    async receive(fileId, chunks) {
      await mkdir(intake, { recursive: true, mode: 0o700 })
      const part = join(intake, fileId)
      try {
        const written = await writeAll(part, chunks)
        const { contentType, extension } = await recognise(part, 'The file')
        const key = `${fileId}/0.${extension}`
        await blobs.put(key, { file: part })
        return { key, contentType, ...written }
      } catch (error) {
        throw error instanceof EngineError
          ? new MediagenError('invalid_media', error.message, {}, { cause: error })
          : error
      } finally {
        await rm(part, { force: true })
      }
    },
    remove: (fileId) => deleteAll(blobs, `${fileId}/`),
  }
}

/** Writes, counts and hashes the chunks. */
async function writeAll(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Pick<ReceivedFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256')
  let bytes = 0
  await using file = await open(path, 'wx')
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue
    hash.update(chunk)
    bytes += chunk.length
    await file.appendFile(chunk)
  }
  if (bytes === 0) throw new MediagenError('invalid_request', 'The file is empty.')
  return { bytes, sha256: hash.digest('hex') }
}
