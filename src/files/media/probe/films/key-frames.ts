// Decodes key frames of AV1 and HEVC as still pictures (AVIF, HEIC), by sharp and by libheif-js.

import { type EncodedPacket, EncodedPacketSink, type InputVideoTrack } from 'mediabunny'
import sharp, { type Sharp } from 'sharp'
import { decodeHeic } from '../pictures/heic.ts'
import { type StillCodec, toAv1Setup, toStill } from '../pictures/still.ts'
import { toBytes } from './packets.ts'

/** The key frame at or before a time; null if it was requested before. */
export type SeeKeyFrame = (seconds: number) => Promise<Sharp | null>

/** ISO/IEC 23091-2 codes of the matrix names in containers. */
const matrices: Readonly<Record<string, number>> = { rgb: 0, bt709: 1, bt470bg: 5, smpte170m: 6, 'bt2020-ncl': 9 }
const highDefinitionLines = 720

/**
 * Opens a video for its key frames; null for another codec.
 * @throws if a frame cannot be decoded, or does not have the size of the track
 */
export async function openKeyFrames(track: InputVideoTrack): Promise<SeeKeyFrame | null> {
  const codec = await track.getCodec()
  if (codec !== 'av1' && codec !== 'hevc') return null
  const setup = await readSetup(track, codec)
  if (!setup) return null
  const [width, height] = [await track.getCodedWidth(), await track.getCodedHeight()]
  const { matrix, fullRange } = await track.getColorSpace()
  const assumed = height >= highDefinitionLines ? 'bt709' : 'smpte170m'
  const colour = { matrix: matrices[matrix ?? assumed] ?? 2, fullRange: fullRange ?? false }
  const sink = new EncodedPacketSink(track)
  const seen = new Set<number>()
  return async (seconds) => {
    const packet = await findKeyFrame(sink, seconds)
    if (!packet || seen.has(packet.timestamp)) return null
    seen.add(packet.timestamp)
    const still = toStill(codec, setup, { data: packet.data, width, height, ...colour })
    const picture = codec === 'hevc' ? await decodeHeic(still) : sharp(still, { failOn: 'error' })
    // Decoded at once, so a damaged frame fails now, and to eight bits.
    const { data, info } = await picture.toColourspace('srgb').removeAlpha().raw().toBuffer({ resolveWithObject: true })
    return sharp(data, { raw: { width: info.width, height: info.height, channels: info.channels } })
  }
}

async function readSetup(track: InputVideoTrack, codec: StillCodec): Promise<Uint8Array | null> {
  if (codec === 'av1') return toAv1Setup((await track.getCodecParameterString()) ?? '')
  const description = (await track.getDecoderConfig())?.description
  return description ? toBytes(description) : null
}

async function findKeyFrame(sink: EncodedPacketSink, seconds: number): Promise<EncodedPacket | null> {
  return (await sink.getKeyPacket(seconds, { verifyKeyPackets: true })) ?? (await sink.getFirstPacket())
}
