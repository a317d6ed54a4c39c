// The interface of a frame encoder.

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

/** Compresses frames. Its creator must close it, even after an error. */
export interface VideoEncoder {
  readonly matrix: Matrix
  /** Encodes the planes Y, U and V; resolves to the packets that are ready, possibly those of earlier frames. */
  encode(yuv: Uint8Array): Promise<readonly VideoPacket[]>
  /** Ends the stream; resolves to the packets that the encoder still holds. */
  flush(): Promise<readonly VideoPacket[]>
  /** Set once the first packet exists. */
  format(): VideoFormat
  close(): Promise<void>
}
