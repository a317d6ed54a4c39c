// Reads objects from a bucket. A connection that breaks or stalls is resumed where it stopped by another request.
import { Readable } from 'node:stream'
import type { ByteRange } from './blobs.ts'
import { BlobsError, type BucketClient } from './s3-requests.ts'

/** How long requests for reading are repeated while the store is in trouble, in milliseconds: somebody waits. */
export const readPatienceMs = 5000
// A download that stalls for this long, in milliseconds, is continued by another request, so many times.
const stallMs = 30_000
const maxResumptions = 3

/** How an object is read. */
interface ReadOptions {
  /** How long requests are repeated while the store is in trouble, in milliseconds. Default: as the client was made. */
  readonly patienceMs?: number | undefined
  /** Receives the number of bytes before any is read, and throws to refuse them. */
  readonly take?: ((bytes: number) => void) | undefined
}

/** Opens an object, or a part of it; null if there is none. */
export async function openObject(
  client: BucketClient,
  object: string,
  range: ByteRange | null,
  { patienceMs, take }: ReadOptions,
): Promise<Readable | null> {
  const read = (start: number | null, end: number | null, etag: string | null): Promise<Response | null> =>
    readObject({ client, object, patienceMs }, start, end, etag)
  const answer = await read(range?.start ?? null, range?.end ?? null, null)
  if (answer === null) return null
  try {
    take?.(Number(answer.headers.get('content-length')))
  } catch (error) {
    await answer.body?.cancel()
    throw error
  }
  return Readable.from(stream(object, read, answer, range), { objectMode: false })
}

/** Asks for the bytes from `start` through `end`. @param etag of the version that is being read */
async function readObject(
  { client, object, patienceMs }: { client: BucketClient; object: string; patienceMs: number | undefined },
  start: number | null,
  end: number | null,
  etag: string | null,
): Promise<Response | null> {
  const headers = {
    ...(start !== null && { range: `bytes=${start}-${end ?? ''}` }),
    ...(etag !== null && { 'if-match': etag }),
  }
  const request = { object, headers, mayBeMissing: true, ...(patienceMs !== undefined && { patienceMs }) }
  const answer = await client.send('GET', request)
  if (answer.status === 404) return null
  if (start !== null && answer.status !== 206)
    throw new BlobsError(`The store of files sent all of ${object} where a part was asked for`)
  return answer
}

async function* stream(
  object: string,
  read: (start: number, end: number | null, etag: string | null) => Promise<Response | null>,
  first: Response,
  range: ByteRange | null,
): AsyncIterable<Buffer> {
  const etag = first.headers.get('etag')
  const end = range?.end ?? null
  let next = range?.start ?? 0
  for (let answer: Response | null = first, left = maxResumptions; ; left -= 1) {
    try {
      // Some stores send more than a part.
      const until = end === null ? next + Number(answer.headers.get('content-length')) : end + 1
      for await (const chunk of readBody(answer)) {
        const wanted = Buffer.from(chunk.buffer, chunk.byteOffset, Math.min(chunk.length, until - next))
        next += wanted.length
        yield wanted
      }
      if (next === until) return
      throw new Error(`${until - next} bytes are missing`)
    } catch (error) {
      answer = left > 0 ? await read(next, end, etag) : null
      if (answer === null) throw new BlobsError(`The store of files broke off sending ${object}`, { cause: error })
    }
  }
}

/** Reads a body, and ends when nothing comes for a while. The time in which the consumer does not read does not count. */
async function* readBody({ body }: Response): AsyncIterable<Uint8Array> {
  const reader = body?.getReader()
  if (!reader) return
  try {
    for (;;) {
      const timer = setTimeout(() => void reader.cancel(), stallMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
