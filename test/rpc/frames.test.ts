// The framing of gRPC messages as it is followed, and what unfinished ones are counted to keep.
import { expect, test } from 'vitest'
import { FrameFollower } from '../../src/rpc/grpc/frames.ts'

const maxBytes = 1000
const overhead = 1024

function toFrame(length: number, flags = 0): Buffer {
  const frame = Buffer.alloc(5 + length)
  frame[0] = flags
  frame.writeUInt32BE(length, 1)
  return frame
}

/** A piece that was read from the socket alone. */
const toPiece = (bytes: Buffer): Buffer => Buffer.from(new Uint8Array(bytes).buffer)

test('messages are told apart wherever they are cut', () => {
  const bytes = Buffer.concat([toFrame(0), toFrame(10, 1), toFrame(7), toFrame(1, 1)])
  for (let size = 1; size <= bytes.length; size++) {
    const frames = new FrameFollower(maxBytes)
    for (let at = 0; at < bytes.length; at += size) frames.push(bytes.subarray(at, at + size))
    expect([frames.begun, frames.isAmid]).toEqual([4, false])
    expect([0, 10, 7, 1].map((length) => frames.take(length))).toEqual([false, true, false, true])
    expect(frames.keptBytes).toBe(0)
  }
})

test('a message is counted by what its pieces were read with, then by its length, until it is handled', () => {
  const frames = new FrameFollower(maxBytes)
  const read = Buffer.from(new ArrayBuffer(200))
  read.set(toFrame(300).subarray(0, 200))
  frames.push(read.subarray(0, 3))
  expect(frames).toMatchObject({ isAmid: true, keptBytes: 200 })
  frames.push(read.subarray(3))
  expect(frames.keptBytes).toBe(200)
  frames.push(toPiece(Buffer.alloc(50)))
  expect(frames.keptBytes).toBe(250)
  frames.push(toPiece(Buffer.alloc(55)))
  expect(frames).toMatchObject({ isAmid: false, keptBytes: 300 + overhead })
  frames.take(300)
  expect(frames.keptBytes).toBe(0)
  // The rest of a piece that completes a message begins the next one.
  frames.push(toPiece(Buffer.concat([toFrame(2), Buffer.from([0])])))
  expect(frames).toMatchObject({ isAmid: true, keptBytes: 2 + overhead + 8 })
})

test('a message that is announced too large, or in a way that is not known, is refused by its head', () => {
  expect(() => new FrameFollower(maxBytes).push(toFrame(maxBytes + 1).subarray(0, 5))).toThrow(
    `${maxBytes + 1} bytes is larger than the ${maxBytes}`,
  )
  expect(() => new FrameFollower(maxBytes).push(toFrame(1, 2))).toThrow('unknown flags 2')
})
