// H.264 by h264-mp4-encoder (minih264 in WebAssembly). It writes whole MP4 files into memory; a film is made of many short
// ones, so that no more than a few seconds are held, and their packets go on into the real file.

import type { H264MP4Encoder as Segment } from 'h264-mp4-encoder'
import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } from 'mediabunny'
import type { Pace, VideoEncoder, VideoFormat, VideoPacket } from './encoder.ts'
import { describeSps } from './h264-sps.ts'

/** 0 … 10. Up to 8 it takes twice the time for hardly a smaller file; 10 gives a clearly larger one. */
const speed = 9
/** Between two frames that can be decoded by themselves. */
export const secondsBetweenKeys = 4

const [parameterSet, keyPicture] = [7, 5]

/**
 * Opens an encoder.
 * @param quantizer the quality of all frames: 10 is the best and largest, 51 the worst
 */
export async function openH264({ width, height, fps }: Pace, quantizer: number): Promise<VideoEncoder> {
  const create = await loadEncoder()
  const keyDistance = secondsBetweenKeys * fps
  let format: VideoFormat | null = null
  let segment: Segment | null = null
  let frames = 0

  const openSegment = async (): Promise<Segment> => {
    const encoder = await create()
    Object.assign(encoder, { width, height, frameRate: fps, speed })
    encoder.quantizationParameter = quantizer
    encoder.groupOfPictures = keyDistance
    encoder.initialize()
    return encoder
  }
  const flush = async (): Promise<readonly VideoPacket[]> => {
    if (!segment) return []
    segment.finalize()
    const file = segment.FS.readFile(segment.outputFilename)
    dispose(segment)
    segment = null
    const { packets, description } = await readSegment(file)
    if (packets.length !== frames) throw new Error(`Of ${frames} frames the encoder gave ${packets.length}`)
    frames = 0
    format ??= describe(description, fps)
    return packets
  }
  return {
    matrix: 'bt709',
    async encode(yuv) {
      segment ??= await openSegment()
      segment.addFrameYuv(yuv)
      return ++frames === keyDistance ? flush() : []
    },
    flush,
    format() {
      if (!format) throw new Error('No frame was encoded yet')
      return format
    },
    async close() {
      // The encoder aborts when it is deleted before it has finished.
      segment?.finalize()
      if (segment) dispose(segment)
      segment = null
    },
  }
}

function dispose(segment: Segment): void {
  const { FS, outputFilename } = segment
  segment.delete()
  FS.unlink(outputFilename)
}

/** Loads the module once. It would print its whole source at any uncaught error of this process; that is undone. */
async function loadEncoder(): Promise<() => Promise<Segment>> {
  const events = ['uncaughtException', 'unhandledRejection'] as const
  const before = events.map((event) => process.rawListeners(event))
  const { default: module } = await import('h264-mp4-encoder')
  for (const [i, event] of events.entries()) {
    for (const listener of process.rawListeners(event))
      if (!before[i]?.includes(listener)) process.off(event, listener as () => void)
  }
  return module.createH264MP4Encoder
}

/** Takes a short file apart. What it says about key frames is wrong; the pictures themselves know. */
async function readSegment(file: Uint8Array): Promise<{ packets: VideoPacket[]; description: Uint8Array }> {
  using input = new Input({ formats: ALL_FORMATS, source: new BufferSource(file) })
  const track = await input.getPrimaryVideoTrack()
  const description = (await track?.getDecoderConfig())?.description
  if (!track || !(description instanceof Uint8Array)) throw new Error('The encoder gave no readable file')
  const packets: VideoPacket[] = []
  for await (const { data } of new EncodedPacketSink(track).packets()) {
    // Four bytes of length go before each unit; a frame is one unit.
    packets.push({ data, isKey: ((data[4] ?? 0) & 31) === keyPicture })
  }
  return { packets, description }
}

/** Makes the decoder's configuration anew around the described parameter set. */
function describe(avcc: Uint8Array, fps: number): VideoFormat {
  const length = ((avcc[6] ?? 0) << 8) | (avcc[7] ?? 0)
  const sps = avcc.subarray(8, 8 + length)
  if (((sps[0] ?? 0) & 31) !== parameterSet) throw new Error('The encoder gave no parameter set')
  const described = describeSps(sps, fps)
  const [profile, constraints, level] = [described[1] ?? 0, described[2] ?? 0, described[3] ?? 0]
  const head = [1, profile, constraints, level, avcc[4] ?? 0, avcc[5] ?? 0]
  const description = Uint8Array.from([
    ...head,
    described.length >> 8,
    described.length & 255,
    ...described,
    ...avcc.subarray(8 + length),
  ])
  const hex = (byte: number): string => byte.toString(16).padStart(2, '0')
  const codecString = `avc1.${hex(profile)}${hex(constraints)}${hex(level)}`
  return { codec: 'avc', codecString, description, matrix: 'bt709' }
}
