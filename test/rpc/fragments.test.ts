// Requests in small pieces: HTTP/2 frames of one byte cost more to look at than they bring.
import { create, toBinary } from '@bufbuild/protobuf'
import { afterAll, expect, test } from 'vitest'
import { CreateQuoteRequestSchema } from '../../gen/mediagen/v1/quotes_pb.ts'
import { startTestApp } from '../test-app.ts'
import { readMetrics } from './metrics.ts'
import { type FramePeer, frameTypes, openFramePeer, toFrame, toHeaders } from './raw-frames.ts'
import { toFrame as toMessage } from './raw-grpc.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_FRAGMENTS: '200' })
afterAll(() => app[Symbol.asyncDispose]())

const path = '/mediagen.v1.QuotesService/CreateQuote'
const requestOf = (prompt: string): Buffer =>
  toMessage(
    toBinary(
      CreateQuoteRequestSchema,
      create(CreateQuoteRequestSchema, { model: 'test/instant/text-to-image', input: { prompt } }),
    ),
  )

/** Sends a request in pieces of a size. */
function sendPieces(peer: FramePeer, stream: number, request: Buffer, size: number): void {
  const frames = []
  for (let at = 0; at < request.length; at += size)
    frames.push(toFrame(frameTypes.data, 0, stream, request.subarray(at, at + size)))
  peer.send(toHeaders(stream, path, app.account.key), ...frames, toFrame(frameTypes.data, 1, stream))
}

const answerOf = (peer: FramePeer, stream: number) =>
  peer.until((frame) => frame.type === frameTypes.headers && frame.stream === stream)

test('MEDIAGEN_MAX_FRAGMENTS: a connection that sends more is closed, and counted', async () => {
  using peer = await openFramePeer(app.app.grpcUrl)
  sendPieces(peer, 1, requestOf('x'.repeat(1000)), 1)
  await peer.closed
  expect(await readMetrics(app)).toContain('mediagen_grpc_refusals_total{reason="too_many_fragments"} 1')
  expect((await app.send('/v1/wallet')).status).toBe(200)
})

test('MEDIAGEN_MAX_FRAGMENTS: fewer are served, and larger pieces are not counted', async () => {
  using peer = await openFramePeer(app.app.grpcUrl)
  sendPieces(peer, 1, requestOf('x'), 1)
  await answerOf(peer, 1)
  sendPieces(peer, 3, requestOf('x'.repeat(30_000)), 100)
  await answerOf(peer, 3)
  // Whole messages are not pieces, however small they are.
  const small = requestOf('x')
  for (let stream = 5; stream < 605; stream += 2) {
    sendPieces(peer, stream, small, 1000)
    await answerOf(peer, stream)
  }
  expect(peer.socket.destroyed).toBe(false)
  expect(peer.seen.filter(({ type }) => type === frameTypes.data)).toHaveLength(301)
})
