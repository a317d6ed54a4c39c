// Puts objects into a bucket: small ones by one request, larger ones in parts that become visible together.
import { openAsBlob } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { BlobsError, type BucketClient, readTag } from './s3-requests.ts'

// The most parts of an object, says S3.
const maxParts = 10_000

/** The body of a new object: bytes that are at hand, or a file that is read while it is sent. */
type Content = Buffer<ArrayBuffer> | Blob

export interface NewObject {
  readonly name: string
  readonly contentType: string
  readonly signal: AbortSignal | undefined
  /** See `BucketRequest`. */
  readonly patienceMs: number | undefined
  readonly outlastsRefusals: boolean
  readonly onTrouble: ((error: unknown) => void) | undefined
}

/** Puts a file, which is removed whatever comes of it. @param partBytes size of parts; a larger file has larger ones */
export async function putFile(client: BucketClient, object: NewObject, file: string, partBytes: number): Promise<void> {
  try {
    const { size } = await stat(file)
    const whole = await openAsBlob(file)
    const bytes = Math.max(partBytes, Math.ceil(size / maxParts))
    await (size <= bytes ? send(client, object, whole) : sendParts(client, object, slice(whole, bytes)))
  } finally {
    await rm(file, { force: true })
  }
}

/** Puts what a stream brings, of which no more than two parts are in memory. */
export async function putStream(
  client: BucketClient,
  object: NewObject,
  chunks: AsyncIterable<Uint8Array>,
  partBytes: number,
): Promise<void> {
  const parts = gather(chunks, partBytes, object.signal)
  const first = await parts.next()
  const second = first.done ? first : await parts.next()
  if (first.done || second.done) await send(client, object, first.value ?? Buffer.alloc(0))
  else await sendParts(client, object, chain(first.value, second.value, parts))
}

async function send(client: BucketClient, { name, contentType, ...terms }: NewObject, body: Content): Promise<void> {
  readEtag(await client.send('PUT', { ...terms, object: name, body, headers: { 'content-type': contentType } }))
}

/** @throws BlobsError when whatever answered has stored nothing: every store names what it has */
function readEtag({ headers }: Response): string {
  const etag = headers.get('etag')
  if (etag === null)
    throw new BlobsError('What answers at the address of the store of files is none: it stored nothing')
  return etag
}

/** Sends parts, and makes one object of them at the end. */
async function sendParts(
  client: BucketClient,
  { name: object, contentType, ...terms }: NewObject,
  parts: AsyncIterable<Content>,
): Promise<void> {
  const headers = { 'content-type': contentType }
  const begun = await (await client.send('POST', { ...terms, object, query: { uploads: '' }, headers })).text()
  const uploadId = readTag(begun, 'UploadId')
  if (uploadId === null) throw new BlobsError(`The store of files began no upload in parts: ${begun.slice(0, 200)}`)
  try {
    const list: string[] = []
    let bytes = 0
    for await (const body of parts) {
      bytes += body instanceof Blob ? body.size : body.length
      const query = { partNumber: String(list.length + 1), uploadId }
      const etag = readEtag(await client.send('PUT', { ...terms, object, query, body }))
      list.push(`<Part><PartNumber>${query.partNumber}</PartNumber><ETag>${etag}</ETag></Part>`)
    }
    const body = `<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`
    const refusal = await client.send('POST', { ...terms, object, query: { uploadId }, body }).then(
      // The store may find out late that it cannot, when the status is already sent.
      async (answer) => ((await answer.text()).includes('<Error>') ? answer.status : null),
      (error: unknown) => error,
    )
    // If only the answer was lost, a second request is refused although the object is there.
    if (refusal !== null && (await measure(client, object)) !== bytes)
      throw new BlobsError(`The store of files could not put the parts of ${object} together`, { cause: refusal })
  } catch (error) {
    await client.send('DELETE', { object, query: { uploadId }, patienceMs: 0 }).catch(() => {})
    throw error
  }
}

async function measure(client: BucketClient, object: string): Promise<number | null> {
  const { ok, headers } = await client.send('HEAD', { object, mayBeMissing: true })
  return ok ? Number(headers.get('content-length')) : null
}

/** Parts of a file, in order. */
async function* slice(whole: Blob, bytes: number): AsyncIterable<Blob> {
  for (let start = 0; start < whole.size; start += bytes) yield whole.slice(start, start + bytes)
}

/** Gathers chunks into parts of at least `bytes`; only the last is smaller. */
async function* gather(
  chunks: AsyncIterable<Uint8Array>,
  bytes: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer<ArrayBuffer>, undefined> {
  let gathered: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    signal?.throwIfAborted()
    gathered.push(chunk)
    size += chunk.length
    if (size < bytes) continue
    yield Buffer.concat(gathered)
    gathered = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(gathered)
}

async function* chain(first: Content, second: Content, rest: AsyncIterable<Content>): AsyncIterable<Content> {
  yield first
  yield second
  yield* rest
}
