// The packets of a track, walked from the first to the last: what a file holds and not what its header says.

import { EncodedPacketSink, type InputTrack } from 'mediabunny'

/** What was found in a track. */
export interface Walked {
  readonly packets: number
  /** Whether decoding can begin at the first packet, by its own bits where the codec is known. */
  readonly startsWithKey: boolean
  /** Where the first packet begins, in seconds: what players drop lies before 0, and a sound may come later than its film. */
  readonly startSeconds: number
  /** Where the last packet ends, in seconds. */
  readonly endSeconds: number
  /** The longest time from one packet to the next: a container need not say how long the last one is shown. */
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

/** The bytes of whatever a decoder's setup is kept in. */
export function toBytes(source: AllowSharedBufferSource): Uint8Array {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source)
}
