// Signatures as S3 checks them: every request is signed again by another implementation, that of the AWS SDK.
import { createHash, createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { SignatureV4 } from '@smithy/signature-v4'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createBucketClient } from '../../../src/files/blobs/s3-requests.ts'
import { createS3Blobs } from '../../../src/files/blobs/s3.ts'
import { type S3Server, startS3, toBucket } from './s3-server.ts'

const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }

/** SHA-256 and HMAC-SHA-256, as the signer wants them. */
class Sha256 {
  readonly #hash
  constructor(secret?: string | Uint8Array) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret)
  }
  update(chunk: string | Uint8Array): void {
    this.#hash.update(chunk)
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
}

const toSigner = (region: string) =>
  new SignatureV4({
    credentials,
    region,
    service: 's3',
    sha256: Sha256 as never,
    uriEscapePath: false,
    applyChecksum: false,
  })

/** `20261122T101112Z` */
function readDate(text: string): Date {
  return new Date(text.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'))
}

/** The signature that a request has, and the one that it should have. */
async function compareSignatures({ method = '', url = '', headers }: IncomingMessage): Promise<[string, string]> {
  const { pathname, searchParams, hostname, port, protocol } = new URL(url, `http://${headers.host}`)
  const query = Object.fromEntries(searchParams)
  const bare = { method, protocol, hostname, port: Number(port), path: pathname }
  const signed = query['X-Amz-Signature']
  if (signed !== undefined) {
    const { 'X-Amz-Date': date = '', 'X-Amz-Expires': seconds, 'X-Amz-Credential': credential = '' } = query
    const own = Object.fromEntries(Object.entries(query).filter(([name]) => !/^X-Amz-(?!Security-Token)/.test(name)))
    const hash = 'x-amz-content-sha256'
    const again = await toSigner(credential.split('/')[2] ?? '').presign(
      { ...bare, query: own, headers: { host: headers.host ?? '', [hash]: 'UNSIGNED-PAYLOAD' } },
      {
        signingDate: readDate(date),
        expiresIn: Number(seconds),
        unsignableHeaders: new Set([hash]),
        unhoistableHeaders: new Set([hash]),
      },
    )
    return [signed, String(again.query?.['X-Amz-Signature'])]
  }
  const [, region = '', names = '', signature = ''] =
    /Credential=[^/]+\/\d{8}\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    ) ?? []
  const again = await toSigner(region).sign(
    {
      ...bare,
      query,
      headers: Object.fromEntries(names.split(';').map((name) => [name, String(headers[name])])),
    },
    { signingDate: readDate(String(headers['x-amz-date'])), signableHeaders: new Set(names.split(';')) },
  )
  return [signature, /Signature=(\w+)$/.exec(again.headers['authorization'] ?? '')?.[1] ?? '']
}

let s3: S3Server
let folder: string
const checked: string[] = []
const wrong: string[] = []
/** Checks each signature, then hands the request to the store. */
const guard = createServer((incoming, outgoing) => {
  const { method = '', url = '', headers } = incoming
  void compareSignatures(incoming).then(([given, expected]) => {
    checked.push(`${method} ${url.replace(/=[^&]*/g, '')}`)
    if (given === '' || given !== expected) wrong.push(`${method} ${url}: ${given} is not ${expected}`)
    const passed = request(`${s3.endpoint}${url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(passed)
  })
})
beforeAll(async () => {
  s3 = await startS3()
  folder = mkdtempSync(join(tmpdir(), 'mediagen-signatures-'))
  await new Promise<void>((resolve) => guard.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  guard.closeAllConnections()
  guard.close()
  await s3[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => void vi.useRealTimers())

const toEndpoint = (): string => `http://127.0.0.1:${(guard.address() as AddressInfo).port}`

test('all requests are signed as the SDK of AWS signs them: whole files, parts, ranges, lists, removals, URLs', async () => {
  const region = 'eu-central-2'
  const bucket = { ...toBucket(toEndpoint()), region }
  const blobs = createS3Blobs({
    bucket,
    prefix: 'a.b/c_d-e/',
    signsUrls: true,
    pageSize: 2,
    partBytes: 5 * 1024 * 1024,
  })
  const file = (name: string, bytes: number): string => {
    const path = join(folder, name)
    writeFileSync(path, Buffer.alloc(bytes, 'mediagen '))
    return path
  }
  const key = 'job_1-2/0.a_b-c..d.png'
  await blobs.put(key, { file: file('small', 1000) })
  await blobs.put('job_2/0.bin', { file: file('large', 11_000_000) })
  await blobs.put('job_3/0.bin', { file: file('empty', 0) })
  expect((await blobs.stat(key))?.bytes).toBe(1000)
  const part = await blobs.open(key, { start: 10, end: 19 })
  expect(part && (await buffer(part)).length).toBe(10)
  expect(await blobs.copyTo(key, join(folder, 'copy'))).toBe(true)
  expect((await Array.fromAsync(blobs.list('job_'))).length).toBe(3)
  const answer = await fetch((await blobs.sign(key, 60_000)) ?? '')
  expect((await answer.arrayBuffer()).byteLength).toBe(1000)
  await blobs.delete([key, 'job_2/0.bin', 'job_3/0.bin'])
  expect(wrong).toEqual([])
  expect([...new Set(checked.map((one) => one.replace(/\/media.*\?/, ' ?')))].toSorted()).toMatchInlineSnapshot(`
    [
      "DELETE  ?",
      "GET  ?",
      "GET  ?X-Amz-Expires&X-Amz-Date&X-Amz-Algorithm&X-Amz-Credential&X-Amz-SignedHeaders&X-Amz-Signature",
      "GET  ?prefix&marker&max-keys",
      "HEAD  ?",
      "POST  ?uploadId",
      "POST  ?uploads",
      "PUT  ?",
      "PUT  ?partNumber&uploadId",
    ]
  `)
})

test('queries are signed with whatever a store puts into its names, and a temporary key with its token', async () => {
  const bucket = { ...toBucket(toEndpoint()), sessionToken: 'a token/with+all=of it~*' }
  const client = createBucketClient(bucket, 0)
  const query = { uploadId: "a/b+c=d~e*f(g)!h'i&j", partNumber: '1' }
  await client.send('PUT', { object: 'x/0.bin', query, body: Buffer.from('x') }).catch(() => {})
  await fetch(await client.sign('x/0.bin', 60))
  expect(wrong).toEqual([])
})

test('the check finds a wrong secret', async () => {
  const bucket = { ...toBucket(toEndpoint()), secretAccessKey: 'another' }
  const blobs = createS3Blobs({ bucket, prefix: '', signsUrls: true })
  await blobs.stat('job_1/0.bin')
  await fetch((await blobs.sign('job_1/0.bin', 60_000)) ?? '')
  expect(wrong.splice(0)).toHaveLength(2)
})

// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html, "Example"
test('a URL is signed as in the example of the S3 manual', async () => {
  vi.useFakeTimers({ now: Date.UTC(2013, 4, 24), toFake: ['Date'] })
  const client = createBucketClient({
    url: 'https://examplebucket.s3.amazonaws.com',
    region: 'us-east-1',
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  })
  expect(await client.sign('test.txt', 86_400)).toContain(
    '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  )
})
