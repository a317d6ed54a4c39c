// A server whose files are in an S3-compatible store: outputs, previews, uploads, inputs, downloads, retention, and trouble.
import { existsSync, readdirSync } from 'node:fs'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { createOperatorTransport } from '../../src/app/operator/operator.ts'
import { readConfig } from '../../src/config.ts'
import type { Blobs } from '../../src/files/blobs/blobs.ts'
import { findBucketTrouble } from '../../src/files/blobs/s3-check.ts'
import { createS3Blobs } from '../../src/files/blobs/s3.ts'
import { openCommandLine } from '../cli/command-line.ts'
import { withBuiltin } from '../test-app.ts'
import { openStoreOf } from '../test-store.ts'
import { bucketName, type Line, type S3Server, startLine, startS3, toBucket } from './blobs/s3-server.ts'
import { startMediaApp } from './media/media-app.ts'

const art = { prompt: 'the sea', width: 256, height: 192 }
const artModel = 'builtin/image/art/text-to-image'

let server: S3Server
let line: Line
beforeAll(async () => {
  server = await startS3()
  line = await startLine(server.endpoint)
})
afterAll(async () => {
  await line[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => {
  line.faults.length = 0
  line.weather = () => null
})

/** Settings of a server whose files are in the test's bucket, under a prefix of its own. */
function toSettings(prefix: string, endpoint = server.endpoint): Record<string, string> {
  return {
    MEDIAGEN_FILES_URL: `s3://${bucketName}/${prefix}`,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
  }
}

async function listKeys(prefix: string): Promise<string[]> {
  const blobs = createS3Blobs({ bucket: toBucket(server.endpoint), prefix: `${prefix}/`, signsUrls: false })
  return (await Array.fromAsync(blobs.list(''))).map(({ key }) => key).toSorted()
}

test('outputs, their previews and uploads are stored there, and read and used as inputs from there', async () => {
  await using media = await startMediaApp(toSettings('all'), withBuiltin)
  const { app } = media
  const job = await media.run(art, artModel)
  const { url, preview_url: previewUrl, bytes, sha256 } = job.outputs[0]
  expect(await listKeys('all')).toEqual([`${job.job_id}/0.png`, `${job.job_id}/0.preview.webp`].toSorted())
  expect(readdirSync(app.config.dataDir)).not.toContain('assets')

  const whole = await fetch(url)
  expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'image/png'])
  const content = Buffer.from(await whole.arrayBuffer())
  expect(content.length).toBe(bytes)
  const part = await fetch(url, { headers: { range: 'bytes=0-99' } })
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 0-99/${bytes}`])
  expect(Buffer.from(await part.arrayBuffer()).equals(content.subarray(0, 100))).toBe(true)
  expect((await fetch(url, { method: 'HEAD' })).headers.get('content-length')).toBe(String(bytes))
  expect((await fetch(previewUrl)).headers.get('content-type')).toBe('image/webp')

  expect((await media.run({ image: url })).outputs[0]).toMatchObject({ sha256 })
  const upload = await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.account.key}`, 'content-type': 'image/png' },
    body: new Blob([content]),
  })
  const file = (await upload.json()) as { file_id: string; url: string }
  expect(await listKeys('all')).toContain(`${file.file_id}/0.png`)
  expect((await media.run({ image: file.url })).outputs[0]).toMatchObject({ sha256 })
})

test('by setting, downloads are redirected to a signed URL of the store', async () => {
  await using media = await startMediaApp({ ...toSettings('signed'), MEDIAGEN_FILES_SIGNED_URLS: 'true' }, withBuiltin)
  const { url, bytes } = (await media.run(art, artModel)).outputs[0]
  const answer = await fetch(url, { redirect: 'manual' })
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([307, 'no-store'])
  const direct = new URL(answer.headers.get('location') ?? '')
  expect([direct.origin, direct.searchParams.has('X-Amz-Signature')]).toEqual([server.endpoint, true])
  expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(bytes)
})

test('operators see what files take there, and what has expired is removed', async () => {
  await using cli = openCommandLine(toSettings('old'))
  const settings = { ...toSettings('old'), MEDIAGEN_DATA_DIR: cli.dataDir }
  await using media = await startMediaApp(settings, withBuiltin)
  const { account } = media.app
  await media.run(art, artModel)
  expect(await cli.json(['admin', 'assets', 'usage'])).toMatchObject([
    { kind: 'outputs', account_id: account.accountId, files: 2 },
  ])

  // By a clock that is a year ahead.
  await using store = await openStoreOf(cli.dataDir, { nowMs: () => Date.now() + 365 * 24 * 3_600_000 })
  const admin = createClient(AdminService, createOperatorTransport(store, readConfig(settings)))
  expect(Number((await admin.sweepFiles({})).expiredFiles)).toBe(2)
  expect(await listKeys('old')).toEqual([])
})

test('a store that fails while a job ends only delays it', async () => {
  await using media = await startMediaApp(toSettings('slow', line.endpoint), withBuiltin)
  line.faults.push('answer 500', 'cut before', 'cut after', 'answer 500')
  const job = await media.run(art, artModel)
  expect(job).toMatchObject({ status: 'succeeded' })
  expect((await fetch(job.outputs[0].url)).status).toBe(200)
})

test('while the store cannot be reached, a download is refused with Retry-After, and works again afterwards', async () => {
  await using media = await startMediaApp(toSettings('away', line.endpoint), withBuiltin)
  const { url } = (await media.run(art, artModel)).outputs[0]
  line.faults.push('refuse')
  const refused = await fetch(url)
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([503, 'storage_unavailable'])
  expect(refused.headers.get('retry-after')).toBe('5')
  expect((await fetch(url)).status).toBe(200)
})

test.each(['false', 'true'])(
  'P211: what its owner deleted is gone at once while the store refuses to delete it (signed URLs: %s)',
  async (signed) => {
    const settings = { ...toSettings(`kept-${signed}`, line.endpoint), MEDIAGEN_FILES_SIGNED_URLS: signed }
    await using media = await startMediaApp(settings, withBuiltin)
    const { app } = media
    const { job_id, outputs } = await media.run(art, artModel)
    const [{ url, preview_url }] = outputs
    const statusOf = async (file: string) => (await fetch(file, { redirect: 'manual' })).status
    expect(await statusOf(url)).toBe(signed === 'true' ? 307 : 200)
    const content = await (await fetch(url)).blob()
    const headers = { authorization: `Bearer ${app.account.key}`, 'content-type': 'image/png' }
    const sent = await fetch(`${app.url}/v1/files`, { method: 'POST', headers, body: content })
    const file = (await sent.json()) as { file_id: string; url: string }

    line.weather = (method) => (method === 'DELETE' || method === 'POST' ? 'refuse' : null)
    for (const path of [`/v1/jobs/${job_id}`, `/v1/files/${file.file_id}`])
      expect((await app.send(path, { method: 'DELETE' })).status).toBe(204)
    expect(await listKeys(`kept-${signed}`)).toHaveLength(3)
    for (const gone of [url, preview_url, file.url]) expect(await statusOf(gone)).toBe(404)
    expect((await app.send(`/v1/files/${file.file_id}`)).status).toBe(404)
    expect(await media.run({ image: url })).toMatchObject({ status: 'failed', error: { code: 'invalid_media' } })
    line.weather = () => null
  },
)

test('P212: a server whose bucket takes no files is not ready, and says why', async () => {
  await using media = await startMediaApp(toSettings('ready', line.endpoint), withBuiltin)
  const ready = () => media.app.send('/readyz', { key: null })
  line.weather = (method) => (method === 'PUT' ? 'refuse' : null)
  expect(await ready()).toMatchObject({
    status: 503,
    body: { reason: expect.stringMatching(/^files cannot be stored: .*PUT/) },
  })
  line.weather = () => null
  await expect.poll(async () => (await ready()).status).toBe(200)
})

test('a store that fails for longer than it is waited for fails the job with a clear error, and nothing is charged', async () => {
  await using media = await startMediaApp(toSettings('down', line.endpoint), withBuiltin)
  // A refusal is not repeated by the client of the store, so that the test need not wait for a minute.
  line.weather = () => 'refuse'
  const job = await media.run(art, artModel)
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'output_not_stored', retryable: true },
    billing: { charged: 0 },
  })
  expect(job.attempts).toBeGreaterThan(1)
  line.weather = () => null
  const later = await media.run(art, artModel)
  expect(later).toMatchObject({ status: 'succeeded' })

  line.weather = () => 'refuse'
  expect(await media.run({ image: later.outputs[0].url })).toMatchObject({
    status: 'failed',
    error: {
      code: 'media_unavailable',
      retryable: true,
      message: 'image cannot be read now: the files of this server are out of reach. Nothing was charged.',
    },
  })
})

test.each([
  ['a bucket that does not exist', { MEDIAGEN_FILES_URL: 's3://another' }, /404 NoSuchBucket.*MEDIAGEN_FILES_URL/],
  ['no key', { AWS_ACCESS_KEY_ID: '' }, /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set/],
  ['something that is no bucket', { MEDIAGEN_FILES_URL: '/srv/files' }, /MEDIAGEN_FILES_URL must be `s3:\/\/bucket`/],
])('a server does not start with %s, and says why', async (_, wrong, words) => {
  await expect(startMediaApp({ ...toSettings('start'), ...wrong }, withBuiltin)).rejects.toThrow(words)
})

test.each([
  ['NoSuchBucket', 404, 'MEDIAGEN_FILES_URL'],
  ['InvalidAccessKeyId', 403, 'AWS_ACCESS_KEY_ID'],
  ['SignatureDoesNotMatch', 403, 'AWS_SECRET_ACCESS_KEY'],
  ['AuthorizationHeaderMalformed', 400, 'AWS_REGION'],
  ['PermanentRedirect', 301, 'AWS_REGION'],
  ['ExpiredToken', 400, 'AWS_SESSION_TOKEN'],
  ['RequestTimeTooSkewed', 403, 'the clock of this machine'],
  ['AccessDenied', 403, 'AWS_ACCESS_KEY_ID may not list, write, read and delete'],
  ['Unheard', 400, 'AWS_ENDPOINT_URL_S3'],
])(
  'a store that answers %s ends a start at once with one sentence that names the setting',
  async (code, status, words) => {
    await using cli = openCommandLine(toSettings('wrong', line.endpoint))
    line.weather = () => ({ code, status })
    const { status: exit, stdout, stderr } = await cli.run(['serve'])
    expect([exit, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^mediagen: [^\n]+[^.]\.\n$/)
    expect(stderr).toContain(`${status} ${code}`)
    expect(stderr).toContain(words)
  },
)

test('a bucket that can be read but not written, or not deleted from, ends a start, too, and is left as it was', async () => {
  await using cli = openCommandLine(toSettings('readonly', line.endpoint))
  for (const refused of ['PUT', 'DELETE']) {
    line.weather = (method) => (method === refused ? 'refuse' : null)
    const { status, stderr } = await cli.run(['serve'])
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/may not list, write, read and delete below MEDIAGEN_FILES_URL\.\n$/),
    ])
    expect(existsSync(cli.dataDir)).toBe(false)
    expect(stderr).toMatch(new RegExp(`${refused} readonly/job_\\w+/check.txt`))
  }
  expect(await listKeys('readonly')).toEqual([])
})

test('a store that forgets what is written to it ends a start, too', async () => {
  const blobs = createS3Blobs({ bucket: toBucket(server.endpoint), prefix: 'forgets/', signsUrls: false })
  const check = (broken: Partial<Blobs>) => findBucketTrouble({ ...blobs, ...broken }, 'check/a.txt')
  expect(await check({})).toBeNull()
  expect(await check({ put: async () => {} })).toMatch(/does not return what was written/)
  expect(await check({ open: (key) => blobs.open(key, { start: 0, end: 3 }) })).toMatch(
    /does not return what was written/,
  )
  expect(await listKeys('forgets')).toEqual([])
})

test('a command of the operator says what is wrong with the store, as nobody logs it', async () => {
  await using cli = openCommandLine(toSettings('skewed', line.endpoint))
  await cli.run(['migrate'])
  line.weather = () => ({ code: 'RequestTimeTooSkewed', status: 403 })
  const { status, stderr } = await cli.run(['admin', 'assets', 'usage'])
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/403 RequestTimeTooSkewed.*the clock of this machine is off/),
  ])
})

test('a store that cannot be reached ends a start within seconds', async () => {
  await using cli = openCommandLine(toSettings('nowhere', 'http://127.0.0.1:9'))
  const { status, stderr } = await cli.run(['serve'])
  expect([status, stderr]).toEqual([1, expect.stringMatching(/cannot be reached .*AWS_ENDPOINT_URL_S3.*\.\n$/)])
})
