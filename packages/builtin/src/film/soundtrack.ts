// Compresses the sound of a film: AAC beside H.264, Opus beside VP8.

import { ALL_FORMATS, type AudioCodec, BufferSource, type EncodedPacket, EncodedPacketSink, Input } from 'mediabunny'
import { encodeSound } from '../sound/encode.ts'
import { mapChannels, type Sound } from '../sound/sound.ts'

/** Packets in their order, with the times at which they sound. */
export interface Soundtrack {
  readonly codec: AudioCodec
  readonly decoderConfig: AudioDecoderConfig
  readonly packets: readonly EncodedPacket[]
}

/** A sound that lasts exactly as long as given: cut, or with silence after it. */
export function fitSound(sound: Sound, seconds: number): Sound {
  const length = Math.round(seconds * sound.sampleRate)
  return mapChannels(sound, (samples) => {
    const fitted = new Float32Array(length)
    fitted.set(samples.subarray(0, length))
    return fitted
  })
}

/** Compresses a sound for a kind of film. */
export async function createSoundtrack(sound: Sound, kind: 'mp4' | 'webm'): Promise<Soundtrack> {
  const file = await encodeSound(sound, kind === 'mp4' ? 'm4a' : 'ogg')
  using input = new Input({ formats: ALL_FORMATS, source: new BufferSource(file) })
  const track = await input.getPrimaryAudioTrack()
  const codec = await track?.getCodec()
  const decoderConfig = await track?.getDecoderConfig()
  if (!track || !codec || !decoderConfig) throw new Error('The sound was not encoded')
  const packets: EncodedPacket[] = []
  for await (const packet of new EncodedPacketSink(track).packets()) packets.push(packet)
  return { codec, decoderConfig, packets }
}
