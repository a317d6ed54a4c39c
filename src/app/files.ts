// The files of an installation: where they are stored, checked on their way in, and by which URLs they are read.
import { join } from 'node:path'
import { takeRandomBytes } from '@mediagen/engine/random-bytes.ts'
import type { Config } from '../config.ts'
import type { Clock } from '../core/clock.ts'
import { StartupError } from '../core/errors.ts'
import type { AssetStore, AssetUrls } from '../core/files/asset.ts'
import type { UploadFiles } from '../core/files/upload.ts'
import { createIdSource } from '../core/ids.ts'
import type { FilesFolders } from '../core/jobs/retention.ts'
import type { Store } from '../core/store.ts'
import type { Blobs } from '../files/blobs/blobs.ts'
import { createDiskBlobs } from '../files/blobs/disk.ts'
import { toBucketUrl } from '../files/blobs/s3-address.ts'
import { findBucketTrouble } from '../files/blobs/s3-check.ts'
import { createS3Blobs } from '../files/blobs/s3.ts'
import { createFilesFolders } from '../files/folders.ts'
import { createKeptBlobs, type KeptBlobs } from '../files/kept-blobs.ts'
import { createRecogniser, type Recogniser } from '../files/media/recognise.ts'
import { openOutputs } from '../files/outputs.ts'
import { createAssetUrls } from '../files/signed-urls.ts'
import { createUploadFiles } from '../files/uploads.ts'
import { startUrlKeys } from '../files/url-keys.ts'
import type { ContainmentFinder } from './containment.ts'
import { followsCaller } from './doors/urls.ts'
import { readChildLimits, readPictureBounds } from './models.ts'
import { measureBlobs } from './observe/measured.ts'
import type { Metrics } from './observe/metrics.ts'
import { startSigner } from './signing.ts'
import { layOut, makeFolder } from './store/data-dir.ts'

// How long a start waits for a store of files in trouble.
const startPatienceMs = 5000

/** The parts of a server that handle files. */
export interface Files extends AsyncDisposable {
  readonly blobs: Blobs
  /** As clients may read them. */
  readonly keptBlobs: KeptBlobs
  readonly assets: AssetStore
  readonly uploads: UploadFiles
  readonly folders: FilesFolders
  readonly urls: AssetUrls
  readonly recognise: Recogniser
}

/** What they need. */
export interface FilesDeps {
  readonly store: Store
  readonly metrics: Metrics
  readonly clock: Clock
  /** The folder of this process for files that are not whole, and for the processes that look into outputs. */
  readonly processFolder: string
  readonly containment: ContainmentFinder
  /** Address under which clients reach this server. */
  readonly publicUrl: () => string
}

/** What says where files are stored. */
export type FilesLocation = Pick<
  Config,
  | 'dataDir'
  | 'filesUrl'
  | 'filesSignedUrls'
  | 'awsEndpoint'
  | 'awsRegion'
  | 'awsAccessKeyId'
  | 'awsSecretAccessKey'
  | 'awsSessionToken'
>

/**
 * Creates the port to the files of an installation.
 * @param patienceMs see `S3Options`
 * @throws StartupError if they are in a bucket, and no key is set
 */
export function createBlobs(location: FilesLocation, patienceMs?: number): Blobs {
  const { filesUrl, awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey, awsRegion: region } = location
  if (filesUrl === null) return createDiskBlobs(layOut(location.dataDir).assets)
  if (accessKeyId === '' || secretAccessKey === '')
    throw new StartupError(
      'MEDIAGEN_FILES_URL names a bucket, so AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set.',
    )
  return createS3Blobs({
    bucket: {
      url: toBucketUrl(filesUrl, location.awsEndpoint, region),
      region,
      accessKeyId,
      secretAccessKey,
      sessionToken: location.awsSessionToken || undefined,
    },
    prefix: filesUrl.prefix,
    signsUrls: location.filesSignedUrls,
    ...(patienceMs !== undefined && { patienceMs }),
  })
}

/**
 * Tries the bucket of an installation whose files are in one, before anything is made.
 * @throws StartupError that names the setting which is wrong
 */
export async function tryBucket(location: FilesLocation): Promise<void> {
  if (location.filesUrl === null) return
  const probe = `${createIdSource(() => Date.now(), takeRandomBytes).next('job')}/check.txt`
  const trouble = await findBucketTrouble(createBlobs(location, startPatienceMs), probe)
  if (trouble !== null) throw new StartupError(trouble)
}

/** Opens the files of a server. */
export async function openFiles(config: Config, deps: FilesDeps): Promise<Files> {
  const { store, metrics, clock, processFolder, containment, publicUrl } = deps
  const blobs = measureBlobs(createBlobs(config), metrics)
  if (config.filesUrl === null) makeFolder(layOut(config.dataDir).assets)
  const intake = join(processFolder, 'intake')
  const recognise = createRecogniser(readPictureBounds(config))
  const signing = { folder: join(processFolder, 'sign'), containment, limits: readChildLimits(config) }
  await using starting = new AsyncDisposableStack()
  const signer = starting.use(config.roles.has('worker') ? await startSigner(config, clock.nowMs(), signing) : null)
  // Last of what can fail: it looks for new keys from now on.
  const keys = await startUrlKeys(store)
  starting.move()
  const assets = openOutputs({
    blobs,
    intake,
    refused: layOut(config.dataDir).refused,
    maxBytes: config.maxOutputBytes,
    pictureBounds: readPictureBounds(config),
    maxProbeRssBytes: config.childMemoryBytes,
    spareProbes: config.spareProcesses,
    ffmpegPath: config.ffmpegPath,
    processFolder: join(processFolder, 'probe'),
    containment,
    childLimits: readChildLimits(config),
    signer,
  })
  return {
    blobs,
    keptBlobs: createKeptBlobs(blobs, store),
    assets,
    uploads: createUploadFiles({ blobs, intake, recognise }),
    folders: createFilesFolders(blobs, clock),
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
