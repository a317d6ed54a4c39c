// Walks all packets of a track: the content of a file, not the claims of its header.

import { EncodedPacketSink, type InputTrack } from 'mediabunny'

/** The content of a track. */
export interface Walked {
  readonly packets: number
  /** Whether the first packet is a key frame, by its own bits if the codec is known. */
  readonly startsWithKey: boolean
  /** Start of the first packet, in seconds: packets before 0 are not played, and a sound may begin later than its film. */
  readonly startSeconds: number
  /** End of the last packet, in seconds. */
  readonly endSeconds: number
  /** The longest time between two packets, because a container need not state the duration of the last one. */
  readonly longestSeconds: number
}

/** Reads every packet. */
export async function walkPackets(track: InputTrack): Promise<Walked> {
  let [packets, endSeconds, longestSeconds, lastSeconds] = [0, 0, 0, 0]
  let [startsWithKey, startSeconds] = [false, 0]
  for await (const packet of new EncodedPacketSink(track).packets()) {
    if (packets === 0) {
      startSeconds = packet.timestamp
      startsWithKey = packet.type === 'key' && (await track.determinePacketType(packet).catch(() => 'key')) !== 'delta'
    }
    packets += 1
    endSeconds = Math.max(endSeconds, packet.timestamp + packet.duration)
    longestSeconds = Math.max(longestSeconds, packet.timestamp - lastSeconds)
    lastSeconds = packet.timestamp
  }
  return { packets, startsWithKey, startSeconds, endSeconds, longestSeconds }
}

/** The bytes of a decoder configuration. */
export function toBytes(source: AllowSharedBufferSource): Uint8Array {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source)
}
