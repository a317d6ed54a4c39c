// UploadFile, a client stream, over gRPC by a foreign client and over Connect: what is whole is stored, what is not leaves nothing.
// P142, P158, P183.
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FilesService } from '../../gen/mediagen/v1/files_pb.ts'
import { listIntake, listUploads } from '../files-on-disk.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { type ForeignClient, openForeignClient } from './foreign-client.ts'
import { readMetrics } from './metrics.ts'

const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))
const rpc = 'FilesService/UploadFile'
const maxBytes = 3_000_000

let app: TestApp
let client: ForeignClient

beforeAll(async () => {
  app = await startTestApp({ MEDIAGEN_MAX_UPLOAD_BYTES: String(maxBytes), MEDIAGEN_RATE_LIMIT: '1000' })
  client = await openForeignClient(app.app.grpcUrl, app.account.key)
})

afterAll(async () => {
  client[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

/** What uploads have on the disk, whole or not. */
function folders(): string[] {
  return [...listUploads(app.config.dataDir), ...listIntake(app.config.dataDir)]
}

/** A picture with so many bytes: what follows its end is passed over by readers. */
function pictureOf(bytes: number): Buffer {
  return Buffer.concat([picture, randomBytes(bytes - picture.length)])
}

function toChunks(file: Buffer, size: number): { chunk: Buffer }[] {
  return Array.from({ length: Math.ceil(file.length / size) }, (_, index) => ({
    chunk: file.subarray(index * size, (index + 1) * size),
  }))
}

describe('a whole file is stored', () => {
  test.each([1, 1000, 65_536, 1_000_000])('in chunks of %i bytes', async (size) => {
    const file = pictureOf(size === 1 ? 500 : 2_000_000)
    const stored = await client.upload(rpc, [{ header: {} }, ...toChunks(file, size), { end: {} }])
    expect(stored.file.sha256).toBe(createHash('sha256').update(file).digest('hex'))
  })

  test('once for the same bytes, if its header says so (P263)', async () => {
    const file = pictureOf(2000)
    const before = folders().length
    const upload = (header: object) => client.upload(rpc, [{ header }, { chunk: file }, { end: {} }])
    const first = await upload({ reuse: true })
    expect((await upload({ reuse: true })).file).toMatchObject({ file_id: first.file.file_id })
    expect(folders()).toHaveLength(before + 1)
    expect((await upload({})).file.file_id).not.toBe(first.file.file_id)
  })

  test('over Connect, as over gRPC', async () => {
    const transport = createConnectTransport({ baseUrl: app.app.httpUrl, httpVersion: '1.1' })
    const file = pictureOf(300_000)
    async function* pieces() {
      yield { piece: { case: 'header' as const, value: { bytes: BigInt(file.length) } } }
      for (const { chunk } of toChunks(file, 50_000)) yield { piece: { case: 'chunk' as const, value: chunk } }
    }
    const headers = { authorization: `Bearer ${app.account.key}` }
    const stored = await createClient(FilesService, transport).uploadFile(pieces(), { headers })
    expect(stored.file?.sha256).toBe(createHash('sha256').update(file).digest('hex'))
  })
})

describe('an incomplete or disordered upload leaves nothing, and the error says why', () => {
  const bytes = picture.length
  const chunk = { chunk: picture }
  test.each<[string, object[], string, RegExp]>([
    ['nothing at all', [], 'invalid_request', /header must be the first message/],
    ['no header', [chunk, { end: {} }], 'invalid_request', /header must be the first message/],
    ['an empty message', [{}], 'invalid_request', /header must be the first message/],
    ['two headers', [{ header: {} }, { header: {} }], 'invalid_request', /chunks and its end/],
    ['neither size nor end', [{ header: {} }, chunk], 'invalid_request', /broke off/],
    ['less than announced', [{ header: { bytes: bytes + 1 } }, chunk], 'invalid_request', /announced/],
    ['more than announced', [{ header: { bytes: bytes - 1 } }, chunk], 'invalid_request', /announced/],
    ['a size below nothing', [{ header: { bytes: -1 } }, chunk], 'invalid_request', /0 or more/],
    ['a chunk after the end', [{ header: {} }, chunk, { end: {} }, chunk], 'invalid_request', /follow the end/],
    ['no bytes', [{ header: {} }, { end: {} }], 'invalid_request', /empty/],
    ['what is no media', [{ header: {} }, { chunk: Buffer.from('x') }, { end: {} }], 'invalid_media', /image, a video/],
    ['too much, announced', [{ header: { bytes: maxBytes + 1 } }], 'payload_too_large', /3000000 bytes/],
    [
      'too much, not announced',
      [{ header: {} }, ...toChunks(pictureOf(maxBytes + 1), 500_000), { end: {} }],
      'payload_too_large',
      /3000000 bytes/,
    ],
    [
      'a chunk that is larger than a message may be',
      [{ header: {} }, { chunk: pictureOf(1_500_000) }],
      'payload_too_large',
      /larger/,
    ],
  ])('%s', async (_what, pieces, code, words) => {
    const before = folders()
    const refused = await client.upload(rpc, pieces).then(
      () => expect.unreachable('it was not refused'),
      (error) => error,
    )
    expect(refused.detail?.code).toBe(code)
    expect(refused.message).toMatch(words)
    await expect.poll(folders).toEqual(before)
  })

  test('a client that cancels, and one whose deadline passes', async () => {
    const before = folders().length
    for (const deadlineMs of [undefined, 300]) {
      const { call, done } = client.beginUpload(rpc, deadlineMs === undefined ? {} : { deadlineMs })
      call.write({ header: {} })
      call.write({ chunk: picture })
      await expect.poll(() => folders().length).toBe(before + 1)
      if (deadlineMs === undefined) call.cancel()
      await expect(done).rejects.toMatchObject({ status: deadlineMs === undefined ? 'CANCELLED' : 'DEADLINE_EXCEEDED' })
      await expect.poll(() => folders().length).toBe(before)
    }
  })
})

test('a client that stalls is refused with the reason, and its space is free again', async () => {
  await using slow = await startTestApp({ MEDIAGEN_STALL_SECONDS: '1', MEDIAGEN_UPLOAD_ROOM_BYTES: '1000000' })
  using stalling = await openForeignClient(slow.app.grpcUrl, slow.account.key)
  const part = pictureOf(200_000)
  const beginnings: Record<string, object[]> = {
    nothing: [],
    'a part': [{ header: { bytes: 300_000 } }, ...toChunks(part, 100_000)],
    'a part, then drops': [{ header: {} }, ...toChunks(part, 100_000)],
    'all but the end of the stream': [{ header: {} }, { chunk: picture }, { end: {} }],
  }
  await Promise.all(
    Object.entries(beginnings).map(async ([what, pieces]) => {
      const { call, done } = stalling.beginUpload(rpc)
      for (const piece of pieces) call.write(piece)
      const drops = what.endsWith('drops') ? setInterval(() => call.write({ chunk: Buffer.from('x') }), 50) : undefined
      const error = await done.then(
        () => expect.unreachable(`${what} was not refused`),
        (refused) => refused,
      )
      clearInterval(drops)
      expect([what, error.status, error.detail?.code]).toEqual([what, 'DEADLINE_EXCEEDED', 'request_timeout'])
      expect(error.message).toMatch(/stalled: fewer than 65536 bytes of it, and not its end, arrived within 1 seconds/)
    }),
  )
  expect([listUploads(slow.config.dataDir), listIntake(slow.config.dataDir)]).toEqual([[], []])
  // What goes on all the while may take longer; and what stalled takes no room.
  const { call, done } = stalling.beginUpload(rpc)
  for (const piece of [{ header: {} }, ...toChunks(pictureOf(900_000), 100_000), { end: {} }]) {
    call.write(piece)
    await pause(120)
  }
  call.end()
  expect((await done).file.bytes).toBe('900000')
})

test('a client that sends faster than the disk takes is held, not remembered', async () => {
  const { call, done } = client.beginUpload(rpc)
  call.write({ header: {} })
  for (const piece of toChunks(pictureOf(2_900_000), 100_000))
    if (!call.write(piece)) await new Promise<void>((resolve) => call.once('drain', () => resolve()))
  call.write({ end: {} })
  call.end()
  expect((await done).file.bytes).toBe('2900000')
})

test('uploads are counted and limited like every call', async () => {
  const key = await app.createKey(app.account.accountId, ['jobs:read'])
  await expect(client.upload(rpc, [{ header: {} }], { key })).rejects.toMatchObject({ status: 'PERMISSION_DENIED' })
  expect(await readMetrics(app)).toContain(
    'mediagen_rpc_total{rpc="FilesService.UploadFile",code="missing_permission"} 1',
  )
})
