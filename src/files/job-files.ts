// The files of a job that has ended: its outputs, and the files of this server that its input refers to.
import { extname } from 'node:path'
import { toFieldName } from '@mediagen/engine/media.ts'
import type { AssetUrls } from '../core/files/asset.ts'
import type { JobFile, JobFiles } from '../core/files/job-files.ts'
import type { Job } from '../core/jobs/job.ts'
import type { Store } from '../core/store.ts'
import type { KeptBlobs } from './kept-blobs.ts'
import type { MediaReference } from './media/reference.ts'
import { isUploadId } from './media/reference.ts'

const longestField = 60

export interface JobFilesDeps {
  readonly store: Pick<Store, 'getJob' | 'getUpload'>
  readonly blobs: Pick<KeptBlobs, 'stat' | 'open'>
  readonly urls: Pick<AssetUrls, 'read'>
}

/** Where a file is; or why it cannot be had. */
type Found = { readonly key: string } | { readonly missing: string }

/** Creates the reader. */
export function createJobFiles({ store, blobs, urls }: JobFilesDeps): JobFiles {
  /** What an input refers to, as far as it is a file of this server that the account may read. */
  async function find(reference: string, accountId: string, withUploads: boolean): Promise<Found> {
    if (/^data:/i.test(reference)) return { missing: 'It is in the input itself.' }
    const asset = isUploadId(reference) ? null : urls.read(reference)
    if (asset === null && !isUploadId(reference)) return { missing: 'It is on another server: the input has its URL.' }
    const [folder = ''] = asset?.key.split('/') ?? [reference]
    if (isUploadId(folder)) {
      if (!withUploads) return { missing: 'It is an upload: the key needs the permission generate.' }
      const upload = await store.getUpload(accountId, folder)
      return upload ? { key: upload.key } : { missing: 'It was an upload, which has expired or was deleted.' }
    }
    if (asset === null) return { missing: gone }
    // As everywhere, anyone with a validly signed URL may read the file; its owner may without, if the job's record shows it.
    const [jobId = ''] = folder.split('-')
    if (asset.valid || shows(await store.getJob(accountId, jobId), asset.key)) return { key: asset.key }
    return { missing: 'Its URL has expired.' }
  }

  async function open(path: string, found: Found): Promise<JobFile> {
    if ('missing' in found) return missing(path, found.missing)
    const extension = extname(found.key)
    const stored = await blobs.stat(found.key)
    const content = stored && (await blobs.open(found.key))
    return stored && content
      ? { path: path + extension, bytes: stored.bytes, content, missing: null }
      : missing(path + extension, gone)
  }

  return {
    async *read(job: Job, references: readonly MediaReference[], withUploads: boolean) {
      for (const [index, { pointer, reference }] of references.entries()) {
        // The number keeps names apart, whatever fields are called.
        const field = toFieldName(pointer)
          .replaceAll(/[^\w-]+/g, '-')
          .slice(0, longestField)
        yield await open(`media/${index + 1}-${field}`, await find(reference, job.accountId, withUploads))
      }
      if (job.status !== 'succeeded' || job.deletedAtMs !== null) return
      for (const [index, { key }] of job.outputs.entries()) yield await open(`outputs/${index + 1}`, { key })
    },
  }
}

const gone = 'It has expired, or was deleted.'

/** Whether a job has delivered a file. Outputs under review are withheld. */
function shows(job: Job | null, key: string): boolean {
  if (job?.status !== 'succeeded' || job.deletedAtMs !== null) return false
  return job.outputs.some((output) => output.key === key || output.previewKey === key)
}

function missing(path: string, words: string): JobFile {
  return { path, bytes: 0, content: null, missing: words }
}
