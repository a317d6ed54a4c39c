// How gRPC messages lie in a stream of bytes: a flag, a length, the message; again and again.
import { GuardError } from '../guard-error.ts'

const headBytes = 5
// Room for a message that comes in pieces; it grows as they come, for a length alone is no reason to take memory.
const leastRoomBytes = 65_536

/** A message as it was sent. */
export interface Frame {
  readonly compressed: boolean
  readonly bytes: Buffer
}

/** What a message that comes in pieces is put into. Pieces are copied: a small one would keep all that was read with it. */
interface Room {
  readonly compressed: boolean
  readonly length: number
  bytes: Buffer
  filled: number
}

/** Puts a frame around a message. */
export function toFrame(message: Uint8Array, compressed = false): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length)
  frame[0] = compressed ? 1 : 0
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, headBytes)
  return frame
}

/** Takes the messages out of what comes. */
export class FrameReader {
  readonly #maxBytes: number
  readonly #hold: (bytes: number) => void
  /** Of a head that comes in pieces. */
  #head: Buffer | null = null
  #headFilled = 0
  #piece: Buffer | null = null
  #room: Room | null = null

  /**
   * @param maxBytes length of the largest message
   * @param hold told by how many bytes the room of an unfinished message grows or, below 0, that it is free again
   */
  constructor(maxBytes: number, hold: (bytes: number) => void) {
    this.#maxBytes = maxBytes
    this.#hold = hold
  }

  /** Whether a message has begun and is not whole. */
  get isAmid(): boolean {
    return this.#room !== null || this.#headFilled > 0 || this.#piece !== null
  }

  /** Hands over the next piece. All messages of the one before must have been taken. */
  push(piece: Buffer): void {
    this.#piece = piece
  }

  /**
   * The next message that is whole; null when more must come.
   * @throws GuardError `payload_too_large` as soon as the length of a message says so
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

  /** Lets go of an unfinished message. */
  discard(): void {
    this.#piece = null
    this.#headFilled = 0
    if (this.#room) this.#hold(-this.#room.bytes.length)
    this.#room = null
  }

  #readLength(head: Buffer): number {
    const length = head.readUInt32BE(1)
    if (length > this.#maxBytes)
      throw new GuardError(
        'payload_too_large',
        `A message of ${length} bytes is larger than the ${this.#maxBytes} bytes that this server takes.`,
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
    this.discard()
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
    this.#hold(bytes.length)
    return { compressed: isCompressed(head), length, bytes, filled: 0 }
  }

  #fit(room: Room, bytes: number): void {
    if (bytes <= room.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.min(room.length, Math.max(bytes, 2 * room.bytes.length)))
    room.bytes.copy(larger, 0, 0, room.filled)
    this.#hold(larger.length - room.bytes.length)
    room.bytes = larger
  }
}

function isCompressed(head: Buffer): boolean {
  const flags = head[0] as number
  if (flags > 1) throw new GuardError('invalid_request', `A request has the unknown flags ${flags}.`)
  return flags === 1
}
