// What connections may do on the gRPC port, how many there may be, and what those without a key may not.
import { once } from 'node:events'
import * as grpc from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import { readMetrics } from './metrics.ts'
import { frameTypes, openFramePeer, toFrame as toHttpFrame, toHeaders, toReset } from './raw-frames.ts'
import { openRawClient, type RawClient, toFrame } from './raw-grpc.ts'

const getWallet = 'WalletService/GetWallet'
const walletPath = `/mediagen.v1.${getWallet}`
const watchHealth = '/grpc.health.v1.Health/Watch'
const empty = toFrame(Buffer.alloc(0))
const { OK } = grpc.status

const startApi = (settings: Record<string, string>) => startTestApp({ MEDIAGEN_ROLES: 'api', ...settings })
/** The server of a group of tests. */
let app: TestApp

/** Starts a server for a group of tests. */
function useApi(settings: Record<string, string>): void {
  beforeAll(async () => {
    app = await startApi(settings)
  })
  afterAll(() => app[Symbol.asyncDispose]())
}

const openKeyed = (app: TestApp) => openRawClient(app.app.grpcUrl, app.account.key)
const openKeyless = (app: TestApp) => openRawClient(app.app.grpcUrl)

async function useKey(client: RawClient): Promise<number | null> {
  return (await client.call(getWallet, { body: empty }).ended).status
}

/** How often the port refused or ended something for a reason. */
async function countOf(app: TestApp, reason: string): Promise<number> {
  const [, count = '0'] =
    new RegExp(`mediagen_grpc_refusals_total\\{reason="${reason}"\\} (\\d+)`).exec(await readMetrics(app)) ?? []
  return Number(count)
}

test('MEDIAGEN_MAX_GRPC_CONNECTIONS: one more closes the oldest that is idle, first of those without a key', async () => {
  await using app = await startApi({ MEDIAGEN_MAX_GRPC_CONNECTIONS: '3' })
  using keyed = await openKeyed(app)
  await useKey(keyed)
  using first = await openKeyless(app)
  using second = await openKeyless(app)
  using third = await openKeyed(app)
  await once(first.session, 'close')
  expect(await useKey(third)).toBe(OK)
  expect([keyed, second, third].map(({ session }) => session.closed)).toEqual([false, false, false])
  // Those that are in use stay.
  const watches = [keyed, second, third].map((client) => client.call(watchHealth, { body: empty }))
  await Promise.all(watches.map(({ stream }) => once(stream, 'data')))
  using peer = await openFramePeer(app.app.grpcUrl)
  await peer.closed
  expect(await countOf(app, 'too_many_connections')).toBe(1)
  expect(await useKey(keyed)).toBe(OK)
})

test('MEDIAGEN_MAX_GRPC_CONNECTIONS_PER_ADDRESS: one more is closed at once; when one leaves, another is accepted', async () => {
  await using app = await startApi({ MEDIAGEN_MAX_GRPC_CONNECTIONS_PER_ADDRESS: '2' })
  using first = await openKeyed(app)
  using second = await openKeyed(app)
  using peer = await openFramePeer(app.app.grpcUrl)
  await peer.closed
  expect(await countOf(app, 'too_many_connections_of_address')).toBe(1)
  expect(await useKey(second)).toBe(OK)
  first.session.destroy()
  await expect
    .poll(async () => {
      using next = await openFramePeer(app.app.grpcUrl)
      return await Promise.race([
        next.until(({ type }) => type === frameTypes.settings).then(() => 'open'),
        next.closed,
      ])
    })
    .toBe('open')
})

describe('time and resets', () => {
  useApi({ MEDIAGEN_KEYLESS_SECONDS: '1', MEDIAGEN_MAX_RESETS: '50' })

  test('MEDIAGEN_KEYLESS_SECONDS: without a key a connection ends, with one it stays', async () => {
    using keyed = await openKeyed(app)
    expect(await useKey(keyed)).toBe(OK)
    using keyless = await openKeyless(app)
    const watch = keyless.call(watchHealth, { body: empty })
    using silent = await openFramePeer(app.app.grpcUrl)
    await Promise.all([silent.closed, watch.ended, once(keyless.session, 'close')])
    expect(await countOf(app, 'no_key_in_time')).toBe(2)
    expect(await useKey(keyed)).toBe(OK)
  })

  test('MEDIAGEN_MAX_RESETS: who resets faster is closed, key or not', async () => {
    using beside = await openKeyed(app)
    await useKey(beside)
    using peer = await openFramePeer(app.app.grpcUrl)
    peer.send(toHeaders(1, walletPath, app.account.key), toHttpFrame(frameTypes.data, 1, 1, empty))
    await peer.until(({ type }) => type === frameTypes.data)
    for (let stream = 3; stream < 2000; stream += 2)
      peer.send(toHeaders(stream, walletPath, app.account.key), toReset(stream))
    await peer.closed
    expect(await useKey(beside)).toBe(OK)
  })
})

describe('bytes and streams', () => {
  useApi({
    MEDIAGEN_MAX_KEYLESS_BYTES: '65536',
    MEDIAGEN_MAX_KEYLESS_STREAMS: '5',
    MEDIAGEN_MAX_STREAMS: '8',
  })

  test('MEDIAGEN_MAX_KEYLESS_BYTES: without a key a connection takes no more', async () => {
    using peer = await openFramePeer(app.app.grpcUrl)
    const pings = Buffer.concat(Array.from({ length: 5000 }, () => toHttpFrame(frameTypes.ping, 0, 0, Buffer.alloc(8))))
    peer.send(pings)
    await peer.closed
    using keyed = await openKeyed(app)
    await useKey(keyed)
    keyed.session.on('ping', () => {})
    for (let at = 0; at < 2000; at++) if (!keyed.session.ping(() => {})) await new Promise(setImmediate)
    expect(await useKey(keyed)).toBe(OK)
  })

  test('MEDIAGEN_MAX_KEYLESS_STREAMS and MEDIAGEN_MAX_STREAMS: a key lifts the one to the other', async () => {
    using client = await openKeyed(app)
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(5)
    const settings = once(client.session, 'remoteSettings')
    await useKey(client)
    await settings
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(8)
  })

  test.for([
    ['MEDIAGEN_MAX_KEYLESS_STREAMS', 5],
    ['MEDIAGEN_MAX_STREAMS', 8],
  ] as const)('%s: one more is refused, and the others go on', async ([, most]) => {
    using peer = await openFramePeer(app.app.grpcUrl)
    let next = 1
    const begin = (path: string, key: string | null = null) => {
      const stream = next
      next += 2
      peer.send(toHeaders(stream, path, key), toHttpFrame(frameTypes.data, 1, stream, empty))
      return stream
    }
    if (most === 8) {
      const wallet = begin(walletPath, app.account.key)
      await peer.until(({ type, stream }) => type === frameTypes.data && stream === wallet)
    }
    const watches = Array.from({ length: most + 1 }, () => begin(watchHealth))
    const refused = watches.at(-1) ?? 0
    await peer.until(({ type, stream }) => type === frameTypes.resetStream && stream === refused)
    for (const watch of watches.slice(0, -1))
      await peer.until(({ type, stream }) => type === frameTypes.data && stream === watch)
    // REFUSED_STREAM: nothing was done, the client may send it again.
    expect(peer.seen.find(({ type }) => type === frameTypes.resetStream)?.payload.readUInt32BE()).toBe(7)
    // Who says that the bound was understood, and passes it nevertheless, is closed.
    for (const { type } of peer.seen)
      if (type === frameTypes.settings) peer.send(toHttpFrame(frameTypes.settings, 1, 0))
    begin(watchHealth)
    await peer.closed
  })
})

describe('calls without a key', () => {
  useApi({ MEDIAGEN_MAX_KEYLESS_CALLS: '1' })
  // Of thirty seconds.
  const burst = 30

  test.for<[string, (stream: number) => Buffer[]]>([
    ['gives calls up', (stream) => [toHeaders(stream, watchHealth, null), toReset(stream)]],
    ['is refused', (stream) => [toHeaders(stream, walletPath, null)]],
    ['sends keys that do not work', (stream) => [toHeaders(stream, walletPath, `mgk_${'x'.repeat(43)}`)]],
    ['asks for what there is not', (stream) => [toHeaders(stream, '/no.such/Method', null, true)]],
  ])('MEDIAGEN_MAX_KEYLESS_CALLS: who %s too often is closed; a key still works from there', async ([, toCall]) => {
    using keyed = await openKeyed(app)
    await useKey(keyed)
    const before = await countOf(app, 'too_many_calls_without_key')
    using peer = await openFramePeer(app.app.grpcUrl)
    for (let call = 0; call < 2 * burst; call++) peer.send(...toCall(2 * call + 1))
    await peer.closed
    expect(await countOf(app, 'too_many_calls_without_key')).toBe(before + 1)
    // Beyond the burst every further call without a key ends its connection, and no call with one does.
    using next = await openFramePeer(app.app.grpcUrl)
    next.send(...toCall(1))
    await next.closed
    using late = await openKeyed(app)
    for (const client of [keyed, late]) for (let at = 0; at <= burst; at++) expect(await useKey(client)).toBe(OK)
  })
})

test('calls that are given up in any way are forgotten', async () => {
  await using app = await startApi({ MEDIAGEN_MAX_GRPC_CONNECTIONS: '1' })
  using peer = await openFramePeer(app.app.grpcUrl)
  const key = app.account.key
  peer.send(toHeaders(1, walletPath, key), toHttpFrame(frameTypes.data, 1, 1, empty))
  await peer.until(({ type, stream }) => type === frameTypes.data && stream === 1)
  // Before and behind a part of the request, as canceled and as in order.
  let stream = 3
  for (const code of [0, 8])
    for (const part of [Buffer.alloc(0), Buffer.from([0, 0]), toFrame(Buffer.alloc(100)).subarray(0, 50)])
      for (const path of [walletPath, '/mediagen.v1.FilesService/UploadFile', '/no.such/Method', watchHealth]) {
        peer.send(toHeaders(stream, path, key), toHttpFrame(frameTypes.data, 0, stream, part), toReset(stream, code))
        stream += 2
      }
  peer.send(toHeaders(stream, walletPath, key), toHttpFrame(frameTypes.data, 1, stream, empty))
  await peer.until((frame) => frame.type === frameTypes.data && frame.stream === stream)
  // Nothing is open any more: the connection counts as idle, and makes room for another.
  await expect.poll(async () => (await openRawClient(app.app.grpcUrl, key).then(useKey)) === OK).toBe(true)
})
