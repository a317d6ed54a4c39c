// libav.js, which decodes VP8, VP9, Opus and FLAC: loaded once, when the first recording needs it.

import libavjs from '@libav.js/variant-webm-vp9'
import { onFirstUse } from '@mediagen/engine/first-use.ts'

type Library = libavjs.LibAV & libavjs.LibAVSync
type Frame = libavjs.Frame

const loadLibrary = onFirstUse(async (): Promise<Library> => {
  // oxlint-disable-next-line import/no-named-as-default-member -- its types know the default export only.
  const loaded = await libavjs.LibAV({ noworker: true, nothreads: true })
  // Its own messages about damaged files are not used.
  await loaded.av_log_set_level(loaded.AV_LOG_QUIET)
  return loaded
})

/** Parameters of a sound decoder that are not in the packets. */
export interface SoundParameters {
  readonly sampleRate: number
  readonly channels: number
  /** The decoder configuration from the container. */
  readonly setup: Uint8Array | null
}

export interface LibavDecoder {
  /** Decodes a packet, or flushes the decoder at the end; throws if that fails. */
  decode(packet: Uint8Array | null): Promise<Frame[]>
  close(): Promise<void>
}

/** Opens a decoder by libav's name for it. */
export async function openLibavDecoder(name: string, sound: SoundParameters | null): Promise<LibavDecoder> {
  const libav = await loadLibrary()
  const [, context, packet, frame] = await libav.ff_init_decoder(name, {
    codecpar: {
      codec_type: sound ? libav.AVMEDIA_TYPE_AUDIO : libav.AVMEDIA_TYPE_VIDEO,
      codec_id: 0,
      format: 0,
      ...(sound && {
        sample_rate: sound.sampleRate,
        channels: sound.channels,
        channel_layoutmask: 2 ** sound.channels - 1,
        ...(sound.setup && { extradata: sound.setup }),
      }),
    },
  })
  return {
    decode: (data) =>
      libav.ff_decode_multi(context, packet, frame, data ? [{ data, pts: 0, ptshi: 0, dts: 0, dtshi: 0 }] : [], {
        fin: data === null,
        copyoutFrame: sound ? 'default' : 'video_packed',
      }),
    close: () => libav.ff_free_decoder(context, packet, frame),
  }
}
