// The attacks on the gRPC port that once stopped the server, against the real program: its memory and /healthz are watched.
// docs/decisions/grpc-port.md says what bounds them.
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { startTarget, type Target } from '../fuzz/target.ts'
import { type FramePeer, frameTypes, openFramePeer, toFrame as toHttpFrame, toHeaders, toReset } from './raw-frames.ts'
import { openRawClient, toField, toFrame } from './raw-grpc.ts'

// Each attack cost 400 to 1,700 MB before, and most of them more than a second of /healthz on a quiet machine, which is printed.
const mostGrowthMb = 250
const attackMs = 12_000
const createQuote = '/mediagen.v1.QuotesService/CreateQuote'
const reflect = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'

/** Attacks a server of its own; a caller with a key is answered while that goes on and afterwards. */
async function attack(target: Target, run: () => Promise<void>): Promise<void> {
  const before = target.residentMb()
  using client = await openRawClient(target.grpcUrl, target.key)
  const ask = () => client.call('WalletService/GetWallet', { body: toFrame(Buffer.alloc(0)) }).ended
  const served = { status: 0, message: '' }
  expect(await ask()).toMatchObject(served)
  const running = run()
  await sleep(attackMs / 2)
  expect(await ask(), 'amid the attack').toMatchObject(served)
  await running
  expect(await ask(), 'after the attack').toMatchObject(served)
  const worst = target.worst()
  console.log(
    `resident ${Math.round(before)} MB before, ${worst.residentMb} MB at most; longest /healthz ${worst.healthzMs} ms`,
  )
  expect(worst.alive).toBe(true)
  expect(target.errors).toEqual([])
  expect(worst.residentMb - before).toBeLessThan(mostGrowthMb)
}

/** Does something again and again for as long as an attack lasts. */
async function keepOn(again: (turn: number) => Promise<unknown>): Promise<void> {
  const until = performance.now() + attackMs
  for (let turn = 0; performance.now() < until; turn++) await again(turn)
}

function connect(target: Target): ClientHttp2Session {
  const session = http2.connect(target.grpcUrl)
  session.on('error', () => {})
  return session.setMaxListeners(0)
}

function begin(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  return stream.on('error', () => {})
}

/** Several peers that flood until they are closed, and then come again. */
async function flood(target: Target, peers: number, send: (peer: FramePeer, from: number) => number): Promise<void> {
  const floodOnce = async (): Promise<void> => {
    using peer = await openFramePeer(target.grpcUrl)
    const { socket } = peer
    let stream = 1
    const until = performance.now() + attackMs
    while (!socket.destroyed && performance.now() < until) {
      stream = send(peer, stream)
      await sleep(5)
      // What the peer was not sent yet is not multiplied.
      while (!socket.destroyed && socket.writableLength > 1_000_000) await sleep(5)
    }
  }
  await Promise.all(Array.from({ length: peers }, () => keepOn(() => floodOnce().catch(() => sleep(20)))))
}

const nulls = Buffer.alloc(6_000_000, Buffer.from([0x0a, 0x02, 0x08, 0x00]))
const bomb = toFrame(
  gzipSync(toField(2, toField(1, Buffer.concat([toField(1, 'x'), toField(2, toField(6, nulls))])))),
  true,
)

test.for([
  ['without a key', false],
  ['with a key', true],
] as const)('messages of 6 kB that inflate to 6 MB of nulls, %s', { timeout: 120_000 }, async ([, hasKey]) => {
  await using target = await startTarget()
  await attack(target, async () => {
    const session = connect(target)
    await keepOn(async () => {
      const headers = { 'grpc-encoding': 'gzip', ...(hasKey && { authorization: `Bearer ${target.key}` }) }
      if (!session.destroyed) begin(session, createQuote, headers).resume().end(bomb)
      await sleep(250)
    })
    session.destroy()
  })
})

test.for([
  ['without a key', false],
  ['with a key', true],
] as const)('200 requests that do not end, %s', { timeout: 120_000 }, async ([, hasKey]) => {
  await using target = await startTarget({ MEDIAGEN_STALL_SECONDS: '60' })
  await attack(target, async () => {
    const session = connect(target)
    const head = toFrame(Buffer.alloc(0))
    head.writeUInt32BE(1_300_000, 1)
    const headers: Record<string, string> = hasKey ? { authorization: `Bearer ${target.key}` } : {}
    const streams = Array.from({ length: 200 }, () => begin(session, createQuote, headers).resume())
    for (const stream of streams) stream.write(head)
    await keepOn(async () => {
      for (const stream of streams)
        if (!stream.destroyed && !stream.writableNeedDrain) stream.write(Buffer.alloc(60_000))
      await sleep(250)
    })
    session.destroy()
  })
})

test('calls that are given up at once, thousands a second', { timeout: 120_000 }, async () => {
  await using target = await startTarget()
  await attack(target, () =>
    flood(target, 6, (peer, from) => {
      for (let stream = from; stream < from + 60; stream += 2)
        peer.send(toHeaders(stream, createQuote, null), toReset(stream))
      return from + 60
    }),
  )
})

test('calls whose refusals are not read from the socket', { timeout: 120_000 }, async () => {
  await using target = await startTarget()
  await attack(target, () =>
    flood(target, 6, (peer, from) => {
      peer.socket.pause()
      peer.send(...Array.from({ length: 100 }, (_, at) => toHeaders(from + 2 * at, createQuote, null, true)))
      return from + 200
    }),
  )
})

test('PING and SETTINGS as fast as they go, read or not', { timeout: 120_000 }, async () => {
  await using target = await startTarget()
  const pings = Buffer.concat(Array.from({ length: 2000 }, () => toHttpFrame(frameTypes.ping, 0, 0, Buffer.alloc(8))))
  const settings = Buffer.concat(Array.from({ length: 2000 }, () => toHttpFrame(frameTypes.settings, 0, 0)))
  await attack(target, () =>
    flood(target, 4, (peer, turn) => {
      if (turn % 4 === 3) peer.socket.pause()
      peer.send(turn % 2 === 0 ? pings : settings)
      return turn + 1
    }),
  )
})

test('reflection that is asked and not read', { timeout: 120_000 }, async () => {
  await using target = await startTarget({ MEDIAGEN_STALL_SECONDS: '60' })
  const questions = Buffer.concat(
    Array.from({ length: 500 }, () => toFrame(toField(4, 'mediagen.v1.GenerationService'))),
  )
  await attack(target, async () => {
    const sessions = Array.from({ length: 5 }, () => connect(target))
    const streams = sessions.flatMap((session) => Array.from({ length: 10 }, () => begin(session, reflect).pause()))
    await keepOn(async () => {
      for (const stream of streams) if (!stream.destroyed && !stream.writableNeedDrain) stream.write(questions)
      await sleep(20)
    })
    for (const session of sessions) session.destroy()
  })
})

test('thousands of questions to reflection in each frame, and no answer is read', { timeout: 120_000 }, async () => {
  await using target = await startTarget({ MEDIAGEN_STALL_SECONDS: '60' })
  // Questions for the services, as many as a frame of 16 KiB holds.
  const questions = Buffer.concat(Array.from({ length: 2300 }, () => toFrame(toField(7, ''))))
  await attack(target, async () => {
    const sessions: ClientHttp2Session[] = []
    await keepOn(async () => {
      const session = http2.connect(target.grpcUrl, { settings: { initialWindowSize: 0 } })
      sessions.push(session.on('error', () => {}).setMaxListeners(0))
      for (let at = 0; at < 60; at++) begin(session, reflect).resume().write(questions)
      await sleep(100)
    })
    for (const session of sessions) session.destroy()
  })
})

test('answers that are not read, with a key', { timeout: 120_000 }, async () => {
  await using target = await startTarget({
    MEDIAGEN_STALL_SECONDS: '60',
    MEDIAGEN_MAX_GRPC_CONNECTION_BYTES: '1000000',
    MEDIAGEN_MAX_GRPC_BYTES: '5000000',
  })
  await attack(target, async () => {
    const sessions = Array.from({ length: 10 }, () =>
      http2.connect(target.grpcUrl, { settings: { initialWindowSize: 0 } }),
    )
    for (const session of sessions) session.on('error', () => {})
    await keepOn(async (turn) => {
      const session = sessions[turn % sessions.length]
      if (!session || session.destroyed) return sleep(20)
      begin(session, '/mediagen.v1.CatalogService/ListModels', { authorization: `Bearer ${target.key}` })
        .resume()
        .end(toFrame(Buffer.alloc(0)))
      await sleep(5)
    })
    for (const session of sessions) session.destroy()
  })
})
