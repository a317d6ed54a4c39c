// Opus for Mediabunny, which has no encoder of its own for it: libopus in WebAssembly, from libav.js.

import libavjs from '@libav.js/variant-webm-vp9'
import { onFirstUse } from '@mediagen/engine/first-use.ts'
import { type AudioCodec, type AudioSample, CustomAudioEncoder, EncodedPacket, registerEncoder } from 'mediabunny'
import { studioRate } from './sound.ts'

const defaultBitRate = 128_000
// The number of samples that libopus adds before the first one; decoders drop as many.
const preSkip = 312

type Library = libavjs.LibAV & libavjs.LibAVSync

interface Encoder {
  readonly library: Library
  readonly context: number
  readonly frame: number
  readonly packet: number
  /** Samples of each channel in a packet. */
  readonly frameSize: number
}

// oxlint-disable-next-line import/no-named-as-default-member -- its types know the default export only.
const loadLibrary = onFirstUse((): Promise<Library> => libavjs.LibAV({ noworker: true, nothreads: true }))

class OpusEncoder extends CustomAudioEncoder {
  #encoder: Encoder | null = null
  #pending = new Float32Array(0)
  #received = 0
  #sent = 0
  #startSeconds: number | null = null

  static override supports(codec: AudioCodec, config: AudioEncoderConfig): boolean {
    return codec === 'opus' && config.sampleRate === studioRate && config.numberOfChannels <= 2
  }

  async init(): Promise<void> {
    const libav = await loadLibrary()
    const [, context, frame, packet, frameSize] = await libav.ff_init_encoder('libopus', {
      ctx: {
        bit_rate: this.config.bitrate ?? defaultBitRate,
        sample_fmt: libav.AV_SAMPLE_FMT_FLT,
        sample_rate: studioRate,
        channel_layout: this.#layout,
      },
      time_base: [1, studioRate],
    })
    this.#encoder = { library: libav, context, frame, packet, frameSize }
  }

  async encode(sample: AudioSample): Promise<void> {
    this.#startSeconds ??= sample.timestamp
    const added = new Float32Array(sample.numberOfFrames * sample.numberOfChannels)
    sample.copyTo(added, { format: 'f32', planeIndex: 0 })
    const all = new Float32Array(this.#pending.length + added.length)
    all.set(this.#pending)
    all.set(added, this.#pending.length)
    this.#pending = all
    this.#received += sample.numberOfFrames
    const { frameSize } = this.#open()
    const width = frameSize * this.config.numberOfChannels
    const whole = Math.floor(all.length / width) * width
    this.#pending = all.slice(whole)
    await this.#send(all.subarray(0, whole), false)
  }

  async flush(): Promise<void> {
    if (this.#received === 0) return
    // Silence to the end of the packet that holds the last sample, which comes later by the pre-skip.
    const { frameSize } = this.#open()
    const packets = Math.ceil((this.#received + preSkip) / frameSize)
    const fed = this.#received - this.#pending.length / this.config.numberOfChannels
    const rest = new Float32Array((packets * frameSize - fed) * this.config.numberOfChannels)
    rest.set(this.#pending)
    this.#pending = new Float32Array(0)
    await this.#send(rest, true)
  }

  async close(): Promise<void> {
    if (!this.#encoder) return
    const { library: libav, context, frame, packet } = this.#encoder
    this.#encoder = null
    await libav.ff_free_encoder(context, frame, packet)
  }

  /** Encodes whole frames and hands their packets on. */
  async #send(samples: Float32Array, isLast: boolean): Promise<void> {
    const { library: libav, context, frame, packet, frameSize } = this.#open()
    const { numberOfChannels } = this.config
    const width = frameSize * numberOfChannels
    const frames = Array.from({ length: samples.length / width }, (_, i) => ({
      data: samples.slice(i * width, (i + 1) * width),
      format: libav.AV_SAMPLE_FMT_FLT,
      sample_rate: studioRate,
      channel_layout: this.#layout,
      channels: numberOfChannels,
      nb_samples: frameSize,
    }))
    const encoded = await libav.ff_encode_multi(context, frame, packet, frames, isLast)
    for (const { data } of encoded) {
      const left = this.#received + preSkip - this.#sent
      // Only the last packet may be shorter; what is after the end is not sent at all.
      if (isLast && left <= 0) break
      const duration = isLast ? Math.min(frameSize, left) : frameSize
      const start = (this.#startSeconds ?? 0) + this.#sent / studioRate
      const first = this.#sent === 0
      this.#sent += duration
      this.onPacket(
        new EncodedPacket(data, 'key', start, duration / studioRate),
        first ? { decoderConfig: this.#describe() } : undefined,
      )
    }
  }

  #open(): Encoder {
    if (!this.#encoder) throw new Error('The Opus encoder is not open')
    return this.#encoder
  }

  get #layout(): number {
    return this.config.numberOfChannels === 1 ? 4 : 3
  }

  /** With the identification header of RFC 7845, section 5.1. */
  #describe(): AudioDecoderConfig {
    const { numberOfChannels } = this.config
    const header = new DataView(new ArrayBuffer(19))
    new Uint8Array(header.buffer).set(new TextEncoder().encode('OpusHead'))
    header.setUint8(8, 1)
    header.setUint8(9, numberOfChannels)
    header.setUint16(10, preSkip, true)
    header.setUint32(12, studioRate, true)
    return { codec: 'opus', sampleRate: studioRate, numberOfChannels, description: header.buffer }
  }
}

/** Lets Mediabunny encode Opus at 48 kHz, mono or stereo. */
export function registerOpusEncoder(): void {
  registerEncoder(OpusEncoder)
}
