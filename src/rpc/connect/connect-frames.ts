// The framing of messages of Connect and gRPC-Web in a body: each has a flag and its length in front of it.
import { MediagenError } from '../../core/errors.ts'

const headBytes = 5
// Initial size of the buffer for a message that arrives in pieces. It grows as they arrive: an announced length alone must not take memory.
const leastRoomBytes = 65_536

/** A message as it was sent. */
export interface Frame {
  readonly compressed: boolean
  readonly bytes: Buffer
}

/** The buffer of a message that arrives in pieces. Pieces are copied, since a small slice would keep the whole socket buffer alive. */
interface Room {
  readonly compressed: boolean
  readonly length: number
  bytes: Buffer
  filled: number
}

/** Puts a frame around a message that is not compressed. */
export function toFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length)
  frame[0] = 0
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, headBytes)
  return frame
}

/** Splits the received bytes into messages. */
export class FrameReader {
  readonly #maxBytes: number
  /** The head of a message, when it arrives in pieces. */
  #head: Buffer | null = null
  #headFilled = 0
  #piece: Buffer | null = null
  #room: Room | null = null

  /** @param maxBytes length of the largest message */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether a message has begun and is incomplete. */
  get isAmid(): boolean {
    return this.#room !== null || this.#headFilled > 0 || this.#piece !== null
  }

  /** Hands over the next piece. All messages of the one before must have been taken. */
  push(piece: Buffer): void {
    this.#piece = piece
  }

  /**
   * The next complete message; null when more bytes are needed.
   * @throws MediagenError `payload_too_large` as soon as the announced length is too large
   */
  take(): Frame | null {
    const piece = this.#piece
    if (piece === null) return null
    if (this.#room === null && this.#headFilled === 0 && piece.length >= headBytes) {
      const end = headBytes + this.#readLength(piece)
      // The usual case: nothing is copied.
      if (piece.length >= end) {
        this.#piece = piece.length > end ? piece.subarray(end) : null
        return { compressed: isCompressed(piece), bytes: piece.subarray(headBytes, end) }
      }
    }
    return this.#assemble(piece)
  }

  #readLength(head: Buffer): number {
    const length = head.readUInt32BE(1)
    if (length > this.#maxBytes)
      throw new MediagenError(
        'payload_too_large',
        `A message of ${length} bytes is larger than the ${this.#maxBytes} bytes that this server accepts.`,
      )
    return length
  }

  #assemble(piece: Buffer): Frame | null {
    let at = 0
    if (this.#room === null) {
      this.#head ??= Buffer.alloc(headBytes)
      at = piece.copy(this.#head, this.#headFilled)
      this.#headFilled += at
      if (this.#headFilled < headBytes) return this.#wait()
      this.#room = this.#openRoom(this.#head, piece.length - at)
    }
    const room = this.#room
    const more = Math.min(piece.length - at, room.length - room.filled)
    this.#fit(room, room.filled + more)
    piece.copy(room.bytes, room.filled, at, at + more)
    room.filled += more
    if (room.filled < room.length) return this.#wait()
    const rest = at + more
    this.#headFilled = 0
    this.#room = null
    this.#piece = rest < piece.length ? piece.subarray(rest) : null
    return { compressed: room.compressed, bytes: room.bytes.subarray(0, room.length) }
  }

  #wait(): null {
    this.#piece = null
    return null
  }

  #openRoom(head: Buffer, arrivedBytes: number): Room {
    const length = this.#readLength(head)
    const bytes = Buffer.allocUnsafeSlow(Math.min(length, Math.max(leastRoomBytes, arrivedBytes)))
    return { compressed: isCompressed(head), length, bytes, filled: 0 }
  }

  #fit(room: Room, bytes: number): void {
    if (bytes <= room.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.min(room.length, Math.max(bytes, 2 * room.bytes.length)))
    room.bytes.copy(larger, 0, 0, room.filled)
    room.bytes = larger
  }
}

function isCompressed(head: Buffer): boolean {
  const flags = head[0] as number
  if (flags > 1) throw new MediagenError('invalid_request', `A request has the unknown flags ${flags}.`)
  return flags === 1
}
