// Uploaded files on the local disk: <root>/<file id>/0.<extension>, written as they arrive and durable before they are reported.
import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '@mediagen/engine/engine.ts'
import { MediagenError } from '../core/errors.ts'
import type { ReceivedFile, UploadFiles } from '../core/upload.ts'
import { syncFolder } from './disk.ts'

export interface UploadFilesOptions {
  /** Folder of the asset store, which serves the files. */
  readonly root: string
  /** Recognises the content of a file; throws EngineError `invalid_media` if it is not accepted. */
  readonly recognise: (path: string, name: string) => Promise<{ contentType: string; extension: string }>
}

// No key can name it, and it is removed with the folder of the upload.
const partName = '.part'

/** Creates the port; it need not be closed. */
export function createUploadFiles({ root, recognise }: UploadFilesOptions): UploadFiles {
  return {
    async receive(fileId, chunks) {
      const folder = join(root, fileId)
      await mkdir(folder)
      try {
        const part = join(folder, partName)
        const written = await writeAll(part, chunks)
        const { contentType, extension } = await recognise(part, 'The file')
        const key = `${fileId}/0.${extension}`
        await rename(part, join(root, key))
        await syncFolder(folder)
        await syncFolder(root)
        return { key, contentType, ...written }
      } catch (error) {
        await rm(folder, { recursive: true, force: true })
        throw error instanceof EngineError
          ? new MediagenError('invalid_media', error.message, {}, { cause: error })
          : error
      }
    },
    remove: (fileId) => rm(join(root, fileId), { recursive: true, force: true }),
  }
}

/** Writes, counts and hashes the chunks; durable when it resolves. */
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
  await file.sync()
  return { bytes, sha256: hash.digest('hex') }
}
