// FilesService: files that accounts upload as inputs of their generations.
import type { ServiceImpl } from '@connectrpc/connect'
import { takeRandomBytes } from '@mediagen/engine/random-bytes.ts'
import type { FilesService, UploadFileRequest, UploadHeader } from '../../gen/mediagen/v1/files_pb.ts'
import type { Clock } from '../core/clock.ts'
import { MediagenError } from '../core/errors.ts'
import type { AssetUrls } from '../core/files/asset.ts'
import { leastCountedBytes, type Upload, type UploadFiles, type UploadStore } from '../core/files/upload.ts'
import { createIdSource } from '../core/ids.ts'
import type { RetentionStore } from '../core/jobs/retention.ts'
import { isStorageTrouble } from '../core/storage-trouble.ts'
import { boundWaiting } from '../guards/progress.ts'
import { urlsFor } from './calls/caller-urls.ts'
import { callerOf } from './calls/caller.ts'
import { readPage, refuse } from './calls/request.ts'
import { toFileMessage } from './messages/convert.ts'

/** What the service needs. */
export interface FilesDeps {
  readonly store: UploadStore & Pick<RetentionStore, 'crossOff'>
  readonly files: UploadFiles
  readonly urls: AssetUrls
  readonly clock: Clock
  /** Largest file, in bytes. */
  readonly maxUploadBytes: number
  /** Disk space of an account's uploads, in bytes. */
  readonly maxStoredBytes: number
  /** How long a file is kept. */
  readonly retainMs: number
  /** How long `leastProgressBytes` may take to arrive. */
  readonly stallMs: number
}

/** Creates the service. */
export function createFilesService(deps: FilesDeps): ServiceImpl<typeof FilesService> {
  const { store, files, urls, clock, maxUploadBytes, maxStoredBytes, retainMs, stallMs } = deps
  const ids = createIdSource(() => clock.nowMs(), takeRandomBytes)
  // Bytes of each account that are on the disk but in no record yet.
  const underWay = new Map<string, number>()

  async function* readChunks(
    requests: AsyncIterable<UploadFileRequest>,
    accountId: string,
    onHeader: (header: UploadHeader) => void,
  ): AsyncIterable<Uint8Array> {
    let header: UploadHeader | null = null
    let ended = false
    let bytes = 0
    const grow = (by: number) => underWay.set(accountId, (underWay.get(accountId) ?? 0) + by)
    try {
      for await (const { piece } of boundWaiting(requests, stallMs, measurePiece)) {
        if (!header) {
          header = readHeader(piece)
          onHeader(header)
          const announced = Number(header.bytes ?? 0)
          await checkRoom(accountId, Math.max(announced, leastCountedBytes), announced)
        } else if (piece.case === 'end' && !ended) ended = true
        else {
          const chunk = readChunk(piece, ended)
          bytes += chunk.length
          grow(chunk.length)
          await checkRoom(accountId, 0, bytes)
          yield chunk
        }
      }
    } finally {
      grow(-bytes)
      if (underWay.get(accountId) === 0) underWay.delete(accountId)
    }
    checkWhole(header, ended, bytes)
  }

  /** Refuses an upload as soon as it is known to be too large. The store decides about concurrent uploads of an account. */
  async function checkRoom(accountId: string, more: number, bytes: number): Promise<void> {
    if (bytes > maxUploadBytes)
      throw new MediagenError(
        'payload_too_large',
        `The file is larger than the ${maxUploadBytes} bytes that this server accepts.`,
      )
    const stored = await store.measureUploads(accountId)
    if (stored + (underWay.get(accountId) ?? 0) + more > maxStoredBytes) throw noRoom(stored)
  }

  function noRoom(stored: number): MediagenError {
    return new MediagenError(
      'too_many_uploads',
      `The uploads of the account take ${stored} of at most ${maxStoredBytes} bytes, which leaves too little space for this file. Delete some, or wait until some expire.`,
    )
  }

  return {
    async uploadFile(requests, context) {
      const { accountId } = callerOf(context)
      const fileId = ids.next('file')
      let reuse = false
      const chunks = readChunks(requests, accountId, (header) => (reuse = header.reuse))
      const received = await files.receive(fileId, chunks)
      // If this fails, the record may or may not exist; sweeps find a file without a record.
      const created = await store.createUpload({ fileId, accountId, ...received, retainMs, reuse }, maxStoredBytes)
      if (created.outcome !== 'created') await files.remove(fileId)
      if (created.outcome === 'no_room') throw noRoom(created.stored)
      return { file: toFileMessage(created.upload, urlsFor(urls, context)) }
    },

    async getFile({ fileId }, context) {
      const upload = await store.getUpload(callerOf(context).accountId, fileId)
      if (!upload) throw fileNotFound(fileId)
      return { file: toFileMessage(upload, urlsFor(urls, context)) }
    },

    async listFiles(request, context) {
      const { items, total } = await store.listUploads(callerOf(context).accountId, readPage(request))
      const shown = urlsFor(urls, context)
      return { files: items.map((upload: Upload) => toFileMessage(upload, shown)), total }
    },

    async deleteFile({ fileId }, context) {
      if (!(await store.deleteUpload(callerOf(context).accountId, fileId))) throw fileNotFound(fileId)
      try {
        await files.remove(fileId)
        await store.crossOff([{ folder: fileId, jobId: null }])
      } catch (error) {
        // The record says that the file is gone, and nobody can read it any more; sweeps remove it.
        if (!isStorageTrouble(error)) throw error
      }
      return {}
    },
  }
}

function measurePiece({ piece }: UploadFileRequest): number {
  return piece.case === 'chunk' ? piece.value.length : 0
}

function readHeader(piece: UploadFileRequest['piece']): UploadHeader {
  if (piece.case !== 'header') {
    refuse([{ pointer: '/header', detail: 'must be the first message of an upload' }])
    throw new Error('refused')
  }
  if ((piece.value.bytes ?? 0n) < 0n) refuse([{ pointer: '/header/bytes', detail: 'must be 0 or more' }])
  return piece.value
}

function readChunk(piece: UploadFileRequest['piece'], ended: boolean): Uint8Array {
  if (piece.case === 'chunk' && !ended) return piece.value
  throw new MediagenError(
    'invalid_request',
    ended ? 'Nothing may follow the end of an upload.' : 'After its header an upload consists of chunks and its end.',
  )
}

/** A stream that was cut off looks like one that was ended. */
function checkWhole(header: UploadHeader | null, ended: boolean, bytes: number): void {
  if (!header) refuse([{ pointer: '/header', detail: 'must be the first message of an upload' }])
  const announced = header?.bytes
  if (announced !== undefined && bytes !== Number(announced))
    throw new MediagenError('invalid_request', `The header announced ${announced} bytes, but ${bytes} arrived.`)
  if (announced === undefined && !ended)
    throw new MediagenError(
      'invalid_request',
      'The upload broke off: its header announced no size, and no end arrived.',
    )
}

function fileNotFound(fileId: string): MediagenError {
  return new MediagenError(
    'file_not_found',
    `There is no upload "${fileId}"; it may have been deleted or have expired.`,
  )
}
