// VP8 by libav.js (FFmpeg and libvpx in WebAssembly).

import libavjs from '@libav.js/variant-webm-vp9'
import { onFirstUse } from '@mediagen/engine/first-use.ts'
import type { Pace, VideoEncoder } from './encoder.ts'
import { usualQuantizer } from './quality.ts'

/** Constant quality, 4 the best and largest, 63 the worst: what looks like a quantizer of H.264, see quality.ts. */
const qualityOf = (quantizer: number): number => 18 + 3 * (quantizer - usualQuantizer)
/** Negative: a fixed speed. A positive one follows the clock, and the same frames would give other bytes each time. */
const speed = -16
const secondsBetweenKeys = 4
/** More than any sensible picture needs; it bounds what noise can take. */
const mostBitsPerPixel = 0.5

// One instance for the life of the process: its memory grows to the largest film and is used again.
// oxlint-disable-next-line import/no-named-as-default-member -- its types know the default export only.
const loadLibrary = onFirstUse(() => libavjs.LibAV({ noworker: true, nothreads: true }))

/**
 * Opens an encoder.
 * @param quantizer the quality of all frames, as H.264 counts
 */
export async function openVp8({ width, height, fps }: Pace, quantizer: number): Promise<VideoEncoder> {
  const av = await loadLibrary()
  await av.av_log_set_level(av.AV_LOG_ERROR)
  const context = {
    bit_rate: Math.ceil(width * height * fps * mostBitsPerPixel),
    pix_fmt: av.AV_PIX_FMT_YUV420P,
    width,
    height,
    framerate_num: fps,
    framerate_den: 1,
    gop_size: secondsBetweenKeys * fps,
    qmin: 4,
    qmax: 48,
  }
  const options = { deadline: 'realtime', 'cpu-used': String(speed), crf: String(qualityOf(quantizer)) }
  const [, codec, frame, packet] = await av.ff_init_encoder('libvpx', {
    ctx: context,
    time_base: [1, fps],
    options,
  })
  const layout = [
    { offset: 0, stride: width },
    { offset: width * height, stride: width / 2 },
    { offset: (width * height * 5) / 4, stride: width / 2 },
  ]
  let pts = 0
  return {
    matrix: 'bt601',
    async encode(yuv) {
      const next = { data: yuv, layout, format: av.AV_PIX_FMT_YUV420P, pts: pts++, width, height }
      return (await av.ff_encode_multi(codec, frame, packet, [next])).map(toPacket)
    },
    async flush() {
      return (await av.ff_encode_multi(codec, frame, packet, [], true)).map(toPacket)
    },
    // The bitstream can name no other matrix.
    format: () => ({ codec: 'vp8', codecString: 'vp8', description: null, matrix: 'bt601' }),
    close: () => av.ff_free_encoder(codec, frame, packet),
  }
}

function toPacket({ data }: { data: Uint8Array }): { data: Uint8Array; isKey: boolean } {
  // The lowest bit of a VP8 frame is 0 for one that stands by itself.
  return { data, isKey: ((data[0] ?? 1) & 1) === 0 }
}
