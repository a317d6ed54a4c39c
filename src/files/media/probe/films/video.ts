// The poster of a video: decodes frames up to one that shows something, if a decoder exists for the codec.

import { type EncodedPacket, EncodedPacketSink, type InputVideoTrack } from 'mediabunny'
import sharp, { type Sharp } from 'sharp'
import { crop, type Frame, isBlack, toPicture } from '../pictures/frame.ts'
import { seeWithFfmpeg } from './ffmpeg.ts'
import { isBaseline, openH264Decoder } from './h264.ts'
import { openKeyFrames } from './key-frames.ts'
import { openLibavDecoder } from './libav.ts'
import { toBytes } from './packets.ts'

// Candidates for a poster, as fractions of the length; the first that is not black is used.
const posterShares = [0.2, 0.3, 0.1, 0.5, 0.8]
// A key frame may be far back, and every frame after it must be decoded.
const mostFrames = 60
const posterSide = 1024
// Profile 0: eight bits, and colour at half the size.
const eightBitVp9 = /^vp09\.00\./

/** The look of a video. */
export interface Look {
  /** An upright picture; null if no frame was decoded. */
  readonly poster: Sharp | null
  /** Whether its frames are as large as its header says. */
  readonly sizeIsTrue: boolean
}

interface FrameDecoder {
  /** Null for a packet without a frame of its own; throws if it cannot be decoded. */
  decode(packet: EncodedPacket): Promise<Frame | null>
  close(): Promise<void> | void
}

/** A video to decode. */
export interface Film {
  readonly track: InputVideoTrack
  readonly path: string
  readonly endSeconds: number
  readonly ffmpegPath: string | null
}

/**
 * Decodes a poster frame; null if no decoder exists for the codec.
 * @throws when a frame on the way cannot be decoded
 */
export async function lookAtVideo(film: Film): Promise<Look | null> {
  const { track } = film
  const codec = await track.getCodec()
  const setup = (await track.getDecoderConfig())?.description
  const name = (await track.getCodecParameterString()) ?? ''
  if (film.ffmpegPath !== null) return await lookWithFfmpeg(film, film.ffmpegPath)
  if (codec === 'vp8') return await lookWith(film, () => openVpx('libvpx'))
  if (codec === 'vp9' && eightBitVp9.test(name)) return await lookWith(film, () => openVpx('libvpx-vp9'))
  if (codec === 'avc' && isBaseline(name))
    return await lookWith(film, () => openBaseline(setup ? toBytes(setup) : null))
  const see = await openKeyFrames(track)
  return see && { poster: await toUpright(await pickPoster(film, see), track), sizeIsTrue: true }
}

async function lookWithFfmpeg(film: Film, ffmpegPath: string): Promise<Look> {
  const { track, path } = film
  const [width, height] = [await track.getDisplayWidth(), await track.getDisplayHeight()]
  const scale = Math.min(1, posterSide / Math.max(width, height))
  const size = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
  const poster = await pickPoster(film, (seconds) => seeWithFfmpeg(ffmpegPath, path, seconds, size))
  return { poster, sizeIsTrue: true }
}

/** The first picture that is not black, else the first. */
async function pickPoster({ endSeconds }: Film, see: (seconds: number) => Promise<Sharp | null>): Promise<Sharp> {
  let first: Sharp | null = null
  for (const share of posterShares) {
    const picture = await see(endSeconds * share)
    if (!picture) continue
    first ??= picture
    const { channels } = await picture.clone().greyscale().stats()
    const [bright] = channels
    if (bright && (bright.mean > 8 || bright.stdev > 4)) return picture
  }
  if (!first) throw new Error('no frame was decoded')
  return first
}

async function lookWith(film: Film, open: () => Promise<FrameDecoder>): Promise<Look> {
  const { track, endSeconds } = film
  const [width, height] = [await track.getCodedWidth(), await track.getCodedHeight()]
  const sink = new EncodedPacketSink(track)
  let found: Frame | null = null
  for (const share of posterShares) {
    const decoder = await open()
    try {
      const frame = await decodeUpTo(sink, decoder, endSeconds * share)
      if (frame && (frame.width < width || frame.height < height)) return { poster: null, sizeIsTrue: false }
      found ??= frame
      if (frame && !isBlack(frame)) {
        found = frame
        break
      }
    } finally {
      await decoder.close()
    }
  }
  if (!found) throw new Error('no frame was decoded')
  // Blocks are 16 pixels wide; a frame that is larger by more has the wrong size.
  const sizeIsTrue = found.width - width < 16 && found.height - height < 16
  const { matrix } = await track.getColorSpace()
  return { poster: await toUpright(toPicture(crop(found, width, height), matrix ?? null), track), sizeIsTrue }
}

/** The frame shown at a time, or the last one decoded before it. */
async function decodeUpTo(sink: EncodedPacketSink, decoder: FrameDecoder, seconds: number): Promise<Frame | null> {
  // Some programs mark every frame as a key frame; the frame's own bits decide.
  const truly = { verifyKeyPackets: true }
  let packet = (await sink.getKeyPacket(seconds, truly)) ?? (await sink.getFirstPacket())
  let frame: Frame | null = null
  for (let count = 0; packet && count < mostFrames; count++) {
    frame = (await decoder.decode(packet)) ?? frame
    packet = await sink.getNextPacket(packet)
    if (packet && packet.timestamp > seconds && frame) break
  }
  return frame
}

/** Applies the pixel aspect ratio and the rotation. */
async function toUpright(picture: Sharp, track: InputVideoTrack): Promise<Sharp> {
  const rotation = await track.getRotation()
  const sides = [await track.getDisplayWidth(), await track.getDisplayHeight()] as const
  const [width, height] = rotation % 180 === 0 ? sides : [sides[1], sides[0]]
  const upright = picture.resize({ width, height, fit: 'fill' }).rotate(rotation)
  const { data, info } = await upright.raw().toBuffer({ resolveWithObject: true })
  return sharp(data, { raw: { width: info.width, height: info.height, channels: info.channels } })
}

async function openVpx(name: 'libvpx' | 'libvpx-vp9'): Promise<FrameDecoder> {
  const decoder = await openLibavDecoder(name, null)
  return {
    async decode({ data: packet }) {
      const [frame] = await decoder.decode(packet)
      const { width, height, data } = frame ?? {}
      return width && height ? { width, height, data: data as Uint8Array } : null
    },
    close: () => decoder.close(),
  }
}

async function openBaseline(setup: Uint8Array | null): Promise<FrameDecoder> {
  const decoder = await openH264Decoder(setup)
  return {
    async decode({ data }) {
      const frame = decoder.decode(data)
      if (!frame) throw new Error('a frame could not be decoded')
      return frame
    },
    close: () => decoder.close(),
  }
}
