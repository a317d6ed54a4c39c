// What an encoder of frames is to the film.

import type { VideoCodec } from 'mediabunny'
import type { Matrix } from './yuv.ts'

/** The size and pace of a film. */
export interface Pace {
  /** Pixels, even. */
  readonly width: number
  readonly height: number
  /** Frames a second, a whole number. */
  readonly fps: number
}

/** A compressed frame. Frames come in the order in which they are shown. */
export interface VideoPacket {
  readonly data: Uint8Array
  readonly isKey: boolean
}

/** How the compressed frames are to be read. */
export interface VideoFormat {
  readonly codec: VideoCodec
  /** As WebCodecs names it, such as `avc1.42c01f`. */
  readonly codecString: string
  /** Of the codec, where it needs one (`avcC`). */
  readonly description: Uint8Array | null
  readonly matrix: Matrix
}

/** Compresses frames. Whoever made one closes it, also after an error. */
export interface VideoEncoder {
  readonly matrix: Matrix
  /** Takes planes Y, U and V; resolves to the packets that are ready, which may be of earlier frames. */
  encode(yuv: Uint8Array): Promise<readonly VideoPacket[]>
  /** Resolves to the packets that were still held back. */
  flush(): Promise<readonly VideoPacket[]>
  /** Known as soon as there was a packet. */
  format(): VideoFormat
  close(): Promise<void>
}
