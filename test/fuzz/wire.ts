// Bytes that no client library would send: raw HTTP/1.1 and raw HTTP/2 with gRPC messages, half of them nearly right.
import http2 from 'node:http2'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Chance } from '../simulation/random.ts'
import type { Target } from './target.ts'

const patienceMs = 1500
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Writes bytes in pieces, reads or not, and hangs up; answers with what came. */
export function throwBytes(url: string, bytes: Buffer, chance: Chance): Promise<Buffer> {
  const { hostname, port } = new URL(url)
  const reads = chance.number() < 0.7
  return new Promise((resolve) => {
    const came: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const timer = setTimeout(() => socket.destroy(), patienceMs * chance.number())
    if (reads) socket.on('data', (chunk) => came.push(chunk))
    socket.on('error', () => {})
    socket.on('end', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(Buffer.concat(came))
    })
    let sent = 0
    const next = (): void => {
      if (sent >= bytes.length || socket.destroyed) return
      const piece = bytes.subarray(sent, sent + 1 + chance.below(bytes.length))
      sent += piece.length
      socket.write(piece, next)
    }
    socket.once('connect', next)
  })
}

/** An HTTP/1.1 request with something wrong, often followed by others. */
export function writeRequests(target: Target, chance: Chance): Buffer {
  const count = chance.number() < 0.2 ? 1 + chance.below(200) : 1
  return Buffer.concat(Array.from({ length: count }, () => writeRequest(target, chance)))
}

const paths = [
  '/v1/quotes',
  '/v1/generate?wait=true',
  '/v1/run',
  '/v1/models',
  '/v1/models/%zz',
  '/v1/jobs',
  '/v1/files',
  '/mcp',
]
const rarePaths = ['/assets/../../etc/passwd', '/openapi.json', '//', '*', '/problems/%00', '/v1/jobs/x/events']
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'CONNECT', 'G\u0000T', '']

function writeRequest({ key }: Target, chance: Chance): Buffer {
  const body = writeBody(chance)
  const path = chance.number() < 0.05 ? `/${'a'.repeat(chance.below(20_000))}` : chance.pick([...paths, ...rarePaths])
  const headers = [
    'host: fuzz',
    `content-type: ${chance.pick(['application/json', 'text/plain', 'application/connect+proto', 'multipart/form-data; boundary=x'])}`,
    ...(chance.number() < 0.7 ? [`authorization: Bearer ${chance.number() < 0.8 ? key : 'mgk_x'}`] : []),
    ...(chance.number() < 0.2 ? ['transfer-encoding: chunked'] : []),
    ...(chance.number() < 0.6
      ? [`content-length: ${body.length + (chance.number() < 0.2 ? chance.below(50) : 0)}`]
      : []),
    ...(chance.number() < 0.3 ? [`idempotency-key: ${chance.below(20)}`] : []),
    ...(chance.number() < 0.1 ? ['host: other'] : []),
    ...(chance.number() < 0.1 ? [`content-encoding: gzip`] : []),
    ...(chance.number() < 0.1 ? [`range: bytes=${chance.below(9)}-,-${chance.below(9)}`] : []),
    ...(chance.number() < 0.05 ? [`x-${'y'.repeat(chance.below(9000))}: 1`] : []),
  ]
  const head = `${chance.pick(methods)} ${path} HTTP/1.${chance.below(3)}\r\n${headers.join('\r\n')}\r\n\r\n`
  return mutate(Buffer.concat([Buffer.from(head), body]), chance)
}

/** JSON that is deep, wide, cut off, not Unicode, or just what is wanted. */
function writeBody(chance: Chance): Buffer {
  switch (chance.below(6)) {
    case 0:
      return Buffer.from('['.repeat(chance.below(100_000)))
    case 1:
      return Buffer.from(`{${Array.from({ length: chance.below(30_000) }, (_, at) => `"f${at}":0`).join(',')}}`)
    case 2:
      return Buffer.from(chance.bytes(chance.below(2000)))
    case 3:
      return gzipSync(Buffer.alloc(chance.below(1_000_000)))
    default:
      return Buffer.from(
        JSON.stringify({
          model: chance.pick(['test/instant/text-to-image', 'builtin/image/art/edit', '__proto__', 7]),
          input: chance.pick<unknown>([{ prompt: 'x' }, { prompt: '\ud800' }, { constructor: {} }, [], null]),
          quote_id: `quote_${Buffer.from(chance.bytes(chance.below(200))).toString('base64url')}`,
        }),
      )
  }
}

/** Flips a few bytes, drops the end, or leaves it. */
function mutate(bytes: Buffer, chance: Chance): Buffer {
  if (chance.number() < 0.6) return bytes
  const flipped = Buffer.from(bytes)
  for (let flip = chance.below(4); flip >= 0 && flipped.length > 0; flip--)
    flipped[chance.below(flipped.length)] = chance.below(256)
  return chance.number() < 0.3 ? flipped.subarray(0, chance.below(flipped.length + 1)) : flipped
}

/** HTTP/2 frames of random types, flags and streams after a valid preface. */
export function writeFrames(chance: Chance): Buffer {
  const frames = Array.from({ length: 1 + chance.below(300) }, () => {
    const payload = Buffer.from(chance.bytes(chance.pick([0, 4, 8, 6, 30, 1000]) ?? 0))
    const head = Buffer.alloc(9)
    head.writeUIntBE(chance.number() < 0.9 ? payload.length : chance.below(2 ** 24), 0, 3)
    head[3] = chance.below(12)
    head[4] = chance.below(256)
    head.writeUInt32BE(chance.number() < 0.3 ? 0 : chance.below(50) * 2 + 1, 5)
    return Buffer.concat([head, payload])
  })
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
  return Buffer.concat([chance.number() < 0.95 ? preface : Buffer.from(chance.bytes(24)), settings, ...frames])
}

const rpcs = [
  'QuotesService/CreateQuote',
  'GenerationService/StartGeneration',
  'GenerationService/Run',
  'GenerationService/WatchJob',
]
const rareRpcs = ['FilesService/UploadFile', 'CatalogService/GetModel', 'AdminService/CreateKey', 'No/Such', '']

/** gRPC calls whose messages are random, inflate, lie about their length or never end. Answers with the grpc-status of each. */
export async function throwCalls(target: Target, chance: Chance): Promise<string[]> {
  const session = http2.connect(target.grpcUrl)
  session.on('error', () => {})
  const calls = Array.from({ length: 1 + chance.below(40) }, () => throwCall(session, target, chance))
  const timer = setTimeout(() => session.destroy(), patienceMs)
  const statuses = await Promise.all(calls)
  clearTimeout(timer)
  session.destroy()
  return statuses.filter((status) => status !== '')
}

function throwCall(session: http2.ClientHttp2Session, { key }: Target, chance: Chance): Promise<string> {
  const zipped = chance.number() < 0.3
  return new Promise((resolve) => {
    if (session.destroyed) return resolve('')
    let status = ''
    const stream = session.request({
      ':method': 'POST',
      ':path': `/mediagen.v1.${chance.pick([...rpcs, ...rareRpcs])}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(zipped && { 'grpc-encoding': chance.pick(['gzip', 'deflate', 'br']) }),
      ...(chance.number() < 0.7 && { authorization: `Bearer ${chance.number() < 0.9 ? key : 'mgk_x'}` }),
      ...(chance.number() < 0.1 && { 'grpc-timeout': chance.pick(['1m', '0n', 'x', '99999999H']) }),
    })
    stream.on('response', (headers) => (status ||= String(headers['grpc-status'] ?? '')))
    stream.on('trailers', (headers) => (status ||= String(headers['grpc-status'] ?? '')))
    stream.on('error', () => {})
    stream.on('close', () => resolve(status))
    stream.resume()
    const plain =
      chance.number() < 0.3 ? Buffer.alloc(chance.below(3_000_000)) : Buffer.from(chance.bytes(chance.below(500)))
    const message = zipped ? gzipSync(plain) : plain
    const head = Buffer.alloc(5)
    head[0] = zipped ? 1 : chance.below(3)
    head.writeUInt32BE(chance.number() < 0.8 ? message.length : chance.below(2 ** 32), 1)
    stream.write(Buffer.concat([head, message]))
    const end = chance.number()
    if (end < 0.6) stream.end()
    else if (end < 0.8) stream.close(http2.constants.NGHTTP2_CANCEL)
  })
}
