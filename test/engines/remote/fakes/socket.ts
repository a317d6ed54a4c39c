// The server's side of a WebSocket (RFC 6455), which sends whatever a test wants, and not only what is allowed.
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

const accepting = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const opcodes = { text: 1, binary: 2 }

/** A WebSocket that was accepted. */
export interface FakeSocket {
  /** Sends JSON, or bytes as a binary message. */
  send(message: object | Buffer): void
  /** Sends a message that is no JSON. */
  sendText(text: string): void
  /** Sends bytes as they are. */
  sendRaw(bytes: Buffer): void
  /** Called with the client's first message. */
  onText: (text: string) => void
  /** Ends the connection without a word. */
  cut(): void
  /** Resolves when the client has ended the connection. */
  readonly ended: Promise<void>
}

/** A frame of a message, whole or with the length that is claimed. */
export function toFrame(kind: keyof typeof opcodes, payload: Buffer, claimed = payload.length): Buffer {
  const head = Buffer.alloc(10)
  head[0] = 0x80 | opcodes[kind]
  head[1] = 127
  head.writeBigUInt64BE(BigInt(claimed), 2)
  if (claimed > 65_535) return Buffer.concat([head, payload])
  // Shorter ones must have shorter heads.
  if (claimed > 125) {
    head[1] = 126
    head.writeUInt16BE(claimed, 2)
    return Buffer.concat([head.subarray(0, 4), payload])
  }
  head[1] = claimed
  return Buffer.concat([head.subarray(0, 2), payload])
}

/** Accepts a WebSocket. */
export function acceptSocket({ headers }: IncomingMessage, wire: Duplex): FakeSocket {
  const accept = createHash('sha1')
    .update(headers['sec-websocket-key'] + accepting)
    .digest('base64')
  wire.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  )
  wire.once('data', (chunk: Buffer) => {
    const text = readText(chunk)
    if (text !== null) socket.onText(text)
  })
  wire.resume()
  const socket: FakeSocket = {
    onText: () => {},
    send: (message) =>
      void wire.write(
        Buffer.isBuffer(message) ? toFrame('binary', message) : toFrame('text', Buffer.from(JSON.stringify(message))),
      ),
    sendText: (text) => void wire.write(toFrame('text', Buffer.from(text))),
    sendRaw: (bytes) => void wire.write(bytes),
    cut: () => void wire.destroy(),
    ended: new Promise((done) => void wire.on('end', () => done()).on('close', () => done())),
  }
  return socket
}

/** A short text message, which arrives in one piece. */
function readText(chunk: Buffer): string | null {
  const length = (chunk[1] ?? 0) & 127
  if (((chunk[0] ?? 0) & 15) !== opcodes.text || length > 125) return null
  const mask = chunk.subarray(2, 6)
  return Buffer.from(chunk.subarray(6, 6 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0))).toString()
}
