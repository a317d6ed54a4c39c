// Compresses large answers, such as lists, for clients that ask for it.
import { Buffer } from 'node:buffer'
import { findOrMake } from '@mediagen/engine/first-use.ts'
import type { DoneFuncWithErrOrRes, FastifyReply, FastifyRequest } from 'fastify'
import { chooseEncoding, encode, type Encoding } from './pages/encoding.ts'

// Smaller ones fit into a packet or two in any case.
const leastBytes = 2048
// Kept bodies are sent many times, so they are compressed best; other bodies are compressed fast.
const levels = { kept: 9, fresh: 1 }

/** Bodies that routes keep and send again, compressed. */
const kept: Readonly<Record<Encoding, WeakMap<Buffer, Promise<Buffer>>>> = { br: new WeakMap(), gzip: new WeakMap() }

/** An `onSend` hook for routes with large answers. */
export function compressLarge(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: DoneFuncWithErrOrRes,
): void {
  if (!(typeof payload === 'string' || Buffer.isBuffer(payload)) || payload.length < leastBytes) return done()
  const vary = reply.getHeader('vary')
  reply.header('vary', vary === undefined ? 'accept-encoding' : `${String(vary)}, accept-encoding`)
  const encoding = chooseEncoding(request.headers['accept-encoding'])
  if (encoding === undefined) return done()
  reply.header('content-encoding', encoding)
  compress(encoding, payload).then((body) => done(null, body), done)
}

function compress(encoding: Encoding, payload: string | Buffer): Promise<Buffer> {
  if (typeof payload === 'string') return encode(encoding, Buffer.from(payload), levels.fresh)
  return findOrMake(kept[encoding], payload, () => encode(encoding, payload, levels.kept))
}
