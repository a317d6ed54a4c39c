// The readers of media that inputs refer to.
import type { Config } from '../config.ts'
import type { Store } from '../core/store.ts'
import { createOwnAssetReader } from '../files/inputs/own-assets.ts'
import { createUploadReader } from '../files/inputs/uploads.ts'
import { dataUris } from '../files/media/data-uri.ts'
import { createDownloader, type Downloader } from '../files/media/download.ts'
import type { MediaSource } from '../files/media/reader.ts'
import { createMediaSource } from '../files/media/source.ts'
import { createUrlReader } from '../files/media/url.ts'
import { onlyPublic } from '../outgoing/hosts.ts'
import type { Overrides } from './app.ts'
import type { Files } from './files.ts'

/** What the readers need. */
export interface MediaDeps {
  readonly store: Store
  readonly files: Files
  readonly overrides: Overrides
}

// Outputs that were paid for are not given up sooner; a run that fails to fetch them may try again.
const downloadMs = 3_600_000

/** What downloads files that other servers made for runs. */
export function createOutputDownloader(config: Config, { resolve }: Overrides): Downloader {
  return createDownloader({
    allowed: onlyPublic,
    allowedPorts: config.allowPorts,
    maxBytes: config.maxOutputBytes,
    timeoutMs: downloadMs,
    ...(resolve && { resolve }),
  })
}

/**
 * Turns references into files. The first reader that knows a reference reads it, so files of this server are not
 * fetched over HTTP.
 */
export function createMedia(config: Config, deps: MediaDeps): { source: MediaSource; close(): Promise<void> } {
  const { store, overrides } = deps
  const { blobs, keptBlobs, urls, recognise } = deps.files
  const fetched = createUrlReader({
    allowed: config.mediaAllowHosts,
    allowedPorts: config.allowPorts,
    timeoutMs: config.mediaFetchSeconds * 1000,
    ...(overrides.resolve && { resolve: overrides.resolve }),
  })
  const uploads = createUploadReader({ store, blobs, urls })
  const source = createMediaSource([dataUris, uploads, createOwnAssetReader(keptBlobs, urls), fetched], recognise)
  return { source, close: async () => fetched[Symbol.asyncDispose]() }
}
