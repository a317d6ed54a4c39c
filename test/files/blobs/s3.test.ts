// Blobs in an S3-compatible store: the contract, and what the store and the line to it may do meanwhile.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createS3Blobs, type S3Options } from '../../../src/files/blobs/s3.ts'
import { describeBlobs } from './contract.ts'
import { type Line, type S3Server, startAnswering, startLine, startS3, toBucket } from './s3-server.ts'

describeBlobs('in an S3-compatible store', async () => {
  const server = await startS3()
  const options = { bucket: server.bucket, prefix: 'an/installation/', signsUrls: true, pageSize: 7 }
  return {
    blobs: createS3Blobs(options),
    again: createS3Blobs(options),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
})

describe('a store in trouble', () => {
  let server: S3Server
  let line: Line
  let folder: string
  beforeAll(async () => {
    server = await startS3()
    line = await startLine(server.endpoint)
    folder = mkdtempSync(join(tmpdir(), 'mediagen-s3-files-'))
  })
  afterAll(async () => {
    await line[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach(() => {
    line.faults.length = 0
    line.seen.length = 0
  })
  const open = (more: Partial<S3Options> = {}) =>
    createS3Blobs({ bucket: toBucket(line.endpoint), prefix: '', signsUrls: false, ...more })
  const leave = (bytes: number): { path: string; content: Buffer } => {
    const content = Buffer.alloc(bytes, 'mediagen ')
    const path = join(folder, `${bytes}`)
    writeFileSync(path, content)
    return { path, content }
  }
  const read = async (key: string) => {
    const content = await createS3Blobs({ bucket: server.bucket, prefix: '', signsUrls: false }).open(key)
    return content && (await buffer(content))
  }

  test('a list that never ends its entries is read in linear time', async () => {
    // The old expression needs minutes.
    const page = `<ListBucketResult>${'<Contents>'.repeat(200_000)}</ListBucketResult>`
    await using store = await startAnswering(page)
    const blobs = createS3Blobs({ bucket: toBucket(store.endpoint), prefix: '', signsUrls: false })
    expect(await Array.fromAsync(blobs.list(''))).toEqual([])
  })

  test('what answers with a page of HTML has stored nothing and lists nothing', async () => {
    await using store = await startAnswering('<html>Sign in to the network</html>')
    const blobs = createS3Blobs({ bucket: toBucket(store.endpoint), prefix: '', signsUrls: false })
    const { path } = leave(10)
    await expect(blobs.put('job_9/0.bin', { file: path })).rejects.toThrow(/stored nothing/)
    await expect(Array.fromAsync(blobs.list(''))).rejects.toThrow(/gave no list/)
  })

  test('a list names keys with characters of any number, and ends', async () => {
    const entry = (name: string) => `<Contents><Key>${name}</Key><Size>1</Size></Contents>`
    const page = `<ListBucketResult>${entry('p/&#x7f;a')}${entry('p/&#34;b')}<IsTruncated>true</IsTruncated></ListBucketResult>`
    await using store = await startAnswering(page)
    const blobs = createS3Blobs({ bucket: toBucket(store.endpoint), prefix: '', signsUrls: false })
    expect(await Array.fromAsync(blobs.list(''))).toEqual([])
    expect(new URL(store.asked.at(-1) ?? '', store.endpoint).searchParams.get('marker')).toBe('p/"b')
  })

  test('a file is stored although the store fails, the line is cut, and an answer is lost', async () => {
    const { path, content } = leave(100_000)
    line.faults.push('answer 500', 'cut before', 'cut after')
    await open().put('job_1/0.bin', { file: path })
    expect(line.seen).toEqual(['PUT', 'PUT', 'PUT', 'PUT'])
    expect((await read('job_1/0.bin'))?.equals(content)).toBe(true)
  })

  test('a large file is sent in parts, and is visible only when it is whole', async () => {
    const { path, content } = leave(12_000_000)
    const blobs = open({ partBytes: 5 * 1024 * 1024 })
    // The start of the upload, the parts, its end: each is lost once, before or after it arrives.
    line.faults.push('cut before', null, null, 'cut after', null, 'answer 500', null, 'answer 500')
    await blobs.put('job_2/0.bin', { file: path })
    expect(line.seen).toEqual(['POST', 'POST', 'PUT', 'PUT', 'PUT', 'PUT', 'PUT', 'POST', 'POST'])
    expect((await read('job_2/0.bin'))?.equals(content)).toBe(true)
  })

  test('an upload in parts whose last answer is lost is found to be whole', async () => {
    const { path, content } = leave(6_000_000)
    line.faults.push(null, null, null, 'cut after')
    // This store answers the second request with 500, where S3 says 404.
    await open({ partBytes: 5 * 1024 * 1024, patienceMs: 500 }).put('job_3/0.bin', { file: path })
    expect((await read('job_3/0.bin'))?.equals(content)).toBe(true)
  })

  test('an upload in parts that fails leaves nothing visible', async () => {
    const { path } = leave(7_000_000)
    line.faults.push(null, null, 'refuse')
    const put = open({ partBytes: 5 * 1024 * 1024 }).put('job_4/0.bin', { file: path })
    await expect(put).rejects.toThrow(/answered PUT job_4\/0\.bin with 403 AccessDenied/)
    expect(await read('job_4/0.bin')).toBeNull()
    expect(line.seen.at(-1)).toBe('DELETE')
  })

  test('a stream larger than a part is stored in parts', async () => {
    async function* chunks() {
      for (let count = 0; count < 12; count += 1) yield Buffer.alloc(1024 * 1024, String.fromCharCode(97 + count))
    }
    await open({ partBytes: 5 * 1024 * 1024 }).put('job_5/0.bin', chunks())
    expect(line.seen).toEqual(['POST', 'PUT', 'PUT', 'PUT', 'POST'])
    const stored = await read('job_5/0.bin')
    expect(stored?.length).toBe(12 * 1024 * 1024)
    expect(String.fromCharCode(stored?.[0] ?? 0, stored?.at(-1) ?? 0)).toBe('al')
  })

  test('a download that is cut goes on where it stopped', async () => {
    const { path, content } = leave(3_000_000)
    const blobs = open()
    await blobs.put('job_6/0.bin', { file: path })
    line.seen.length = 0
    line.faults.push('cut the answer', 'cut the answer')
    const opened = await blobs.open('job_6/0.bin')
    expect(opened && (await buffer(opened)).equals(content)).toBe(true)
    line.faults.push('cut the answer')
    const part = await blobs.open('job_6/0.bin', { start: 1000, end: 2_000_000 })
    expect(part && (await buffer(part)).equals(content.subarray(1000, 2_000_001))).toBe(true)
    expect(line.seen).toEqual(['GET', 'GET', 'GET', 'GET', 'GET'])
  })

  test('a download that is cut again and again fails, and does not end as if it were whole', async () => {
    const { path } = leave(2_000_000)
    const blobs = open()
    await blobs.put('job_7/0.bin', { file: path })
    line.faults.push(...Array<'cut the answer'>(8).fill('cut the answer'))
    const opened = await blobs.open('job_7/0.bin')
    await expect(opened && buffer(opened)).rejects.toThrow('broke off sending job_7/0.bin')
  })

  test('a refusal is not repeated, and says what was refused', async () => {
    line.faults.push('refuse')
    await expect(open().stat('job_8/0.bin')).rejects.toMatchObject({
      message: expect.stringContaining('answered HEAD job_8/0.bin with 403'),
      code: 'BLOBS_UNAVAILABLE',
    })
    expect(line.seen).toEqual(['HEAD'])
  })

  test('a bucket that does not exist takes and lists nothing', async () => {
    const bucket = { ...server.bucket, url: `${server.endpoint}/another` }
    const blobs = createS3Blobs({ bucket, prefix: '', signsUrls: false })
    await expect(blobs.put('job_9/0.bin', { file: leave(10).path })).rejects.toThrow('404 NoSuchBucket')
    await expect(Array.fromAsync(blobs.list(''))).rejects.toThrow('404 NoSuchBucket')
  })

  test('trouble that lasts is an error that says so', async () => {
    line.faults.push(...Array<'answer 500'>(20).fill('answer 500'))
    await expect(open({ patienceMs: 500 }).delete(['job_9/0.bin'])).rejects.toThrow(
      /answered DELETE job_9\/0\.bin with 500 InternalError/,
    )
    const nowhere = createS3Blobs({
      bucket: toBucket('http://127.0.0.1:9'),
      prefix: '',
      signsUrls: false,
      patienceMs: 0,
    })
    await expect(nowhere.stat('job_9/0.bin')).rejects.toThrow(/cannot be reached for HEAD job_9\/0\.bin: /)
  })

  test.each([
    ['whole', 100_000, 1],
    ['in parts', 6_000_000, 4],
  ])('a file %s may be worth more patience than the store has', async (_how, bytes, requests) => {
    const { path, content } = leave(bytes)
    const blobs = open({ partBytes: 5 * 1024 * 1024, patienceMs: 0 })
    line.faults.push('answer 500', 'cut before')
    await expect(blobs.putFiles(new Map([['job_11/0.bin', path]]))).rejects.toThrow('500')
    line.faults.splice(0, 2, 'answer 500', 'cut before', 'answer 500')
    line.seen.length = 0
    writeFileSync(path, content)
    await blobs.putFiles(new Map([['job_11/0.bin', path]]), { patienceMs: 60_000 })
    expect(line.seen).toHaveLength(3 + requests)
    expect((await read('job_11/0.bin'))?.equals(content)).toBe(true)
  })

  test('then it also outlasts refusals that somebody can mend, and says what they are', async () => {
    const { path, content } = leave(10)
    const troubles: unknown[] = []
    line.faults.push('refuse', { status: 404, code: 'NoSuchBucket' }, 'cut before')
    const onTrouble = (error: unknown): void => void troubles.push(error)
    await open().putFiles(new Map([['job_12/0.bin', path]]), { patienceMs: 60_000, onTrouble })
    expect(troubles.map(String)).toEqual([
      expect.stringContaining('answered PUT job_12/0.bin with 403 AccessDenied'),
      expect.stringContaining('answered PUT job_12/0.bin with 404 NoSuchBucket'),
      expect.stringContaining('cannot be reached for PUT job_12/0.bin'),
    ])
    expect((await read('job_12/0.bin'))?.equals(content)).toBe(true)
  })

  test('other refusals are not repeated, however much patience it is worth', async () => {
    line.faults.push({ status: 400, code: 'EntityTooLarge' })
    const put = open().put('job_13/0.bin', { file: leave(10).path }, { patienceMs: 60_000 })
    await expect(put).rejects.toThrow('400 EntityTooLarge')
    expect(line.seen).toEqual(['PUT'])
  })

  test('a URL of the store itself is signed for as long as it says, and not made unless it is wanted', async () => {
    const blobs = createS3Blobs({ bucket: server.bucket, prefix: '', signsUrls: true })
    await blobs.put('job_10/0.png', { file: leave(10).path })
    const url = new URL((await blobs.sign('job_10/0.png', 90_000)) ?? '')
    expect(url.searchParams.get('X-Amz-Expires')).toBe('90')
    const answer = await fetch(url)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(url.searchParams.get('X-Amz-Signature')).toMatch(/^[0-9a-f]{64}$/)
    expect(await open().sign('job_10/0.png', 90_000)).toBeNull()
  })
})
