// Frames of HTTP/2 that once stopped the server, as many as go through. Its memory and /healthz are watched.
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'vitest'
import { startTarget, type Target } from '../fuzz/target.ts'
import { attack, attackMs, createQuote, keepOn } from './flood.ts'
import { type FramePeer, frameTypes, openFramePeer, toFrame, toHeaders, toReset } from './raw-frames.ts'

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
  const pings = Buffer.concat(Array.from({ length: 2000 }, () => toFrame(frameTypes.ping, 0, 0, Buffer.alloc(8))))
  const settings = Buffer.concat(Array.from({ length: 2000 }, () => toFrame(frameTypes.settings, 0, 0)))
  await attack(target, () =>
    flood(target, 4, (peer, turn) => {
      if (turn % 4 === 3) peer.socket.pause()
      peer.send(turn % 2 === 0 ? pings : settings)
      return turn + 1
    }),
  )
})
