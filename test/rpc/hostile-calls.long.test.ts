// Calls that once stopped the server: bombs, requests that do not end, answers that nobody reads. Its memory and /healthz are watched.
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { test } from 'vitest'
import { startTarget, type Target } from '../fuzz/target.ts'
import { attack, createQuote, keepOn } from './flood.ts'
import { toField, toFrame } from './raw-grpc.ts'

const reflect = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'

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
