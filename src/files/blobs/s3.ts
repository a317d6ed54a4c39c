// Blobs in an S3-compatible object store: an object for each, under a common prefix. An object is visible only when it is
// complete, which is a promise of the store.
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Blobs, contentTypeOf, isBlobKey, type PutBlobOptions, type StoredBlob } from './blobs.ts'
import { openObject, readPatienceMs } from './s3-download.ts'
import { BlobsError, type Bucket, type BucketClient, createBucketClient, readTag } from './s3-requests.ts'
import { type NewObject, putFile, putStream } from './s3-upload.ts'

/** Where blobs are, and how. */
export interface S3Options {
  readonly bucket: Bucket
  /** Beginning of the names of all objects: empty, or with a slash at its end. */
  readonly prefix: string
  /** Whether `sign` makes URLs of the store, so that downloads go past this service. */
  readonly signsUrls: boolean
  /** Larger blobs are sent in parts of this size, in bytes: at least 5 MiB, says S3. Default: 16 MiB. */
  readonly partBytes?: number
  /** How long requests are repeated while the store is in trouble, in milliseconds. Default: a minute; 5 s for reads. */
  readonly patienceMs?: number
  /** How many blobs the store lists at once. Default: as the store likes, which is 1000. */
  readonly pageSize?: number
}

const defaultPartBytes = 16 * 1024 * 1024
const deletesAtOnce = 16
const maxSignedSeconds = 604_800

/** Creates the port; it need not be closed. */
export function createS3Blobs(options: S3Options): Blobs {
  const { bucket, prefix, signsUrls, partBytes = defaultPartBytes, patienceMs, pageSize } = options
  const client = createBucketClient(bucket, patienceMs)

  function nameOf(key: string): string {
    if (!isBlobKey(key)) throw new TypeError(`not a key of a blob: ${key}`)
    return prefix + key
  }
  const toObject = (key: string, { signal, patienceMs, onTrouble }: PutBlobOptions = {}): NewObject => ({
    name: nameOf(key),
    contentType: contentTypeOf(key),
    signal,
    patienceMs,
    outlastsRefusals: patienceMs !== undefined,
    onTrouble,
  })

  return {
    async put(key, source, options) {
      const object = toObject(key, options)
      await ('file' in source
        ? putFile(client, object, source.file, partBytes)
        : putStream(client, object, source, partBytes))
    },
    async putFiles(files, options) {
      const objects = Array.from(files, ([key, file]) => ({ file, object: toObject(key, options) }))
      const puts = objects.map(({ file, object }) => putFile(client, object, file, partBytes))
      for (const put of await Promise.allSettled(puts)) if (put.status === 'rejected') throw put.reason
    },
    async stat(key) {
      if (!isBlobKey(key)) return null
      const object = nameOf(key)
      const { ok, headers } = await client.send('HEAD', { object, mayBeMissing: true, patienceMs: readPatienceMs })
      if (!ok) return null
      const storedAtMs = Date.parse(headers.get('last-modified') ?? '')
      return { key, bytes: Number(headers.get('content-length')), storedAtMs }
    },
    async open(key, range) {
      return isBlobKey(key) ? openObject(client, nameOf(key), range ?? null, { patienceMs: readPatienceMs }) : null
    },
    async copyTo(key, path, take) {
      // No client waits, so requests are repeated for as long as those that write.
      const content = await openObject(client, nameOf(key), null, { patienceMs, take })
      if (content === null) return false
      await pipeline(content, createWriteStream(path, { flags: 'wx' })).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') await rm(path, { force: true })
        throw error
      })
      return true
    },
    async *list(keyPrefix) {
      for await (const { name, ...facts } of listObjects(client, prefix + keyPrefix, pageSize)) {
        const key = name.slice(prefix.length)
        if (isBlobKey(key)) yield { key, ...facts }
      }
    },
    async delete(keys) {
      const objects = keys.map(nameOf)
      const failures: unknown[] = []
      // One request each: several stores do not know the deletion of many, or want checksums for it that others refuse.
      for (let done = 0; done < objects.length; done += deletesAtOnce) {
        const some = objects
          .slice(done, done + deletesAtOnce)
          .map((object) => client.send('DELETE', { object, mayBeMissing: true }))
        for (const end of await Promise.allSettled(some)) if (end.status === 'rejected') failures.push(end.reason)
      }
      if (failures.length > 0) throw failures[0]
    },
    async sign(key, ms) {
      const seconds = Math.min(Math.max(1, Math.floor(ms / 1000)), maxSignedSeconds)
      return signsUrls ? client.sign(nameOf(key), seconds) : null
    },
  }
}

/** All objects whose names begin with `prefix`, in the order of their names; by the first version of the list, which every store knows. */
async function* listObjects(
  client: BucketClient,
  prefix: string,
  pageSize: number | undefined,
): AsyncIterable<Omit<StoredBlob, 'key'> & { name: string }> {
  for (let marker = '', before: string | null = null; marker !== before;) {
    before = marker
    const query = { prefix, marker, ...(pageSize !== undefined && { 'max-keys': String(pageSize) }) }
    const page = await (await client.send('GET', { query, patienceMs: readPatienceMs })).text()
    if (!page.includes('<ListBucketResult'))
      throw new BlobsError('What answers at the address of the store of files is none: it gave no list')
    for (const entry of readElements(page, 'Contents')) {
      marker = readTag(entry, 'Key') ?? ''
      // HEAD knows only seconds.
      const storedAtMs = Math.floor(Date.parse(readTag(entry, 'LastModified') ?? '') / 1000) * 1000
      yield { name: marker, bytes: Number(readTag(entry, 'Size')), storedAtMs }
    }
    if (readTag(page, 'IsTruncated') !== 'true') return
  }
}

/** What the elements of a name hold, one after the other. A pattern would look for the end of each that has none once more. */
function* readElements(xml: string, name: string): Iterable<string> {
  const [begin, end] = [`<${name}>`, `</${name}>`]
  for (let from = xml.indexOf(begin); from >= 0;) {
    const to = xml.indexOf(end, from)
    if (to < 0) return
    yield xml.slice(from + begin.length, to)
    from = xml.indexOf(begin, to)
  }
}
