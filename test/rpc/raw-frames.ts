// HTTP/2 frame by frame, for peers that keep to no rule: RFC 9113. Headers are written without compression (RFC 7541, 6.2.2).
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Types of frames. */
export const frameTypes = {
  data: 0,
  headers: 1,
  resetStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
} as const

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

/** A connection that sends what it is told. */
export interface FramePeer extends Disposable {
  readonly socket: Socket
  /** Types of the frames that came, with the streams they came on, in order. */
  readonly seen: { type: number; stream: number; payload: Buffer }[]
  /** When the other side has closed the connection. */
  readonly closed: Promise<void>
  /** Sends frames in one piece. */
  send(...frames: Buffer[]): void
  /** Resolves once a frame came that passes. */
  until(passes: (frame: { type: number; stream: number; payload: Buffer }) => boolean): Promise<void>
}

/** Connects, and shakes hands. */
export async function openFramePeer(grpcUrl: string | null): Promise<FramePeer> {
  const { hostname, port } = new URL(grpcUrl ?? '')
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const seen: FramePeer['seen'] = []
  let rest = Buffer.alloc(0)
  socket.on('data', (piece: Buffer) => {
    rest = Buffer.concat([rest, piece])
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3)
      seen.push({ type: rest[3] ?? 0, stream: rest.readUInt32BE(5), payload: rest.subarray(9, end) })
      rest = rest.subarray(end)
      socket.emit('frame')
    }
  })
  await once(socket, 'connect')
  socket.write(Buffer.concat([Buffer.from(preface), toFrame(frameTypes.settings, 0, 0)]))
  return {
    socket,
    seen,
    closed,
    send: (...frames) => void socket.write(Buffer.concat(frames)),
    async until(passes) {
      while (!seen.some(passes)) await once(socket, 'frame')
    },
    [Symbol.dispose]: () => socket.destroy(),
  }
}

/** A frame. */
export function toFrame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** The frame that begins a call. @param ends whether no request follows */
export function toHeaders(stream: number, path: string, key: string | null, ends = false): Buffer {
  const headers = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': path,
    ':authority': 'test',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(key !== null && { authorization: `Bearer ${key}` }),
  }
  const block = Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), toText(name), toText(value)]),
  )
  return toFrame(frameTypes.headers, ends ? 0x5 : 0x4, stream, block)
}

/** The frame that gives a call up. */
export function toReset(stream: number, code = 8): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(code)
  return toFrame(frameTypes.resetStream, 0, stream, payload)
}

function toText(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])
}
