// The files of an installation: where they are stored, checked on their way in, and by which URLs they are read.
import { join } from 'node:path'
import { createFilesFolders } from '../assets/folders.ts'
import { openOutputs } from '../assets/outputs.ts'
import { createAssetUrls } from '../assets/signed-urls.ts'
import { createUploadFiles } from '../assets/uploads.ts'
import { startUrlKeys } from '../assets/url-keys.ts'
import { createDiskBlobs } from '@mediagen/blobs/disk.ts'
import type { Config } from '../config.ts'
import type { AssetStore, AssetUrls } from '@mediagen/core/asset.ts'
import type { Blobs } from '@mediagen/blobs/blobs.ts'
import type { Clock } from '@mediagen/core/clock.ts'
import type { FilesFolders } from '@mediagen/core/retention.ts'
import type { Store } from '@mediagen/core/store.ts'
import type { UploadFiles } from '@mediagen/core/upload.ts'
import { createRecogniser, type Recogniser } from '@mediagen/media/recognise.ts'
import type { ContainmentFinder } from './containment.ts'
import { layOut, makeFolder } from './data-dir.ts'
import { readChildLimits, readPictureBounds } from './models.ts'
import { followsCaller } from './urls.ts'

/** The parts of a server that handle files. */
export interface Files extends AsyncDisposable {
  readonly blobs: Blobs
  readonly assets: AssetStore
  readonly uploads: UploadFiles
  readonly folders: FilesFolders
  readonly urls: AssetUrls
  readonly recognise: Recogniser
}

/** What they need. */
export interface FilesParts {
  readonly store: Store
  readonly clock: Clock
  /** The folder of this process for files that are not whole, and for the processes that look into outputs. */
  readonly processFolder: string
  readonly containment: ContainmentFinder
  /** Address under which clients reach this server. */
  readonly publicUrl: () => string
}

/** Creates the port to the files of a data directory. */
export function createBlobs(dataDir: string): Blobs {
  return createDiskBlobs(layOut(dataDir).assets)
}

/** Opens the files of a server. */
export async function openFiles(config: Config, parts: FilesParts): Promise<Files> {
  const { store, clock, processFolder, containment, publicUrl } = parts
  makeFolder(layOut(config.dataDir).assets)
  const blobs = createBlobs(config.dataDir)
  const intake = join(processFolder, 'intake')
  const keys = await startUrlKeys(store)
  const recognise = createRecogniser(readPictureBounds(config))
  const assets = openOutputs({
    blobs,
    intake,
    maxBytes: config.maxOutputBytes,
    pictureBounds: readPictureBounds(config),
    maxProbeRssBytes: config.childMemoryBytes,
    spareProbes: config.spareProcesses,
    ffmpegPath: config.ffmpegPath,
    processFolder: join(processFolder, 'probe'),
    containment,
    childLimits: readChildLimits(config),
  })
  return {
    blobs,
    assets,
    uploads: createUploadFiles({ blobs, intake, recognise }),
    folders: createFilesFolders(blobs),
    urls: createAssetUrls({
      keys: keys.list,
      baseUrl: publicUrl,
      followsCaller: followsCaller(config),
      ttlMs: config.assetUrlTtlSeconds * 1000,
      clock,
    }),
    recognise,
    async [Symbol.asyncDispose]() {
      keys.stop()
      await assets.close()
    },
  }
}
