// AAC and Vorbis, decoded by audio-file-decoder (FFmpeg's own decoders in WebAssembly), which takes whole files: the packets
// of a track are written into small MP4 files in memory, so a long recording is never held as a whole.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { getAudioDecoder } from 'audio-file-decoder'
import {
  BufferTarget,
  type EncodedPacket,
  EncodedAudioPacketSource,
  EncodedPacketSink,
  type InputAudioTrack,
  Mp4OutputFormat,
  Output,
} from 'mediabunny'

/** Sound of one channel, −1 … 1. */
type Take = (samples: Float32Array, sampleRate: number) => void

// Each piece takes four bytes per sample, and several times that while it grows.
const pieceSeconds = 60

/**
 * Decodes a sound up to a time in seconds.
 * @throws when a packet cannot be decoded
 */
export async function decodeWithFileDecoder(track: InputAudioTrack, until: number, take: Take): Promise<void> {
  let piece: EncodedPacket[] = []
  for await (const packet of new EncodedPacketSink(track).packets()) {
    if (packet.timestamp >= until) break
    if (packet.timestamp - (piece[0]?.timestamp ?? packet.timestamp) >= pieceSeconds) {
      await decode(await toFile(track, piece), take)
      piece = []
    }
    piece.push(packet)
  }
  if (piece.length > 0) await decode(await toFile(track, piece), take)
}

/** An MP4 file of these packets only, beginning at 0. */
async function toFile(track: InputAudioTrack, packets: readonly EncodedPacket[]): Promise<ArrayBuffer> {
  const [codec, config] = [await track.getCodec(), await track.getDecoderConfig()]
  if (codec === null || config === null) throw new Error('a sound of no codec')
  const source = new EncodedAudioPacketSource(codec)
  const target = new BufferTarget()
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target })
  output.addAudioTrack(source)
  await output.start()
  const start = packets[0]?.timestamp ?? 0
  for (const packet of packets) {
    await source.add(packet.clone({ timestamp: packet.timestamp - start, type: 'key' }), { decoderConfig: config })
  }
  await output.finalize()
  if (!target.buffer) throw new Error('nothing was written')
  return target.buffer
}

let program: string | null = null

async function decode(file: ArrayBuffer, take: Take): Promise<void> {
  const path = createRequire(import.meta.url).resolve('audio-file-decoder/decode-audio.wasm')
  const url = (program ??= `data:application/wasm;base64,${readFileSync(path, 'base64')}`)
  const decoder = await asInBrowsers(() => getAudioDecoder(url, file))
  try {
    take(decoder.decodeAudioData(), decoder.sampleRate)
  } finally {
    decoder.dispose()
  }
}

/** The library was built for browsers. In Node it requires CommonJS and adds listeners that stay. */
function asInBrowsers<T>(open: () => T): T {
  const { process } = globalThis
  Object.assign(globalThis, { process: undefined })
  try {
    return open()
  } finally {
    Object.assign(globalThis, { process })
  }
}
