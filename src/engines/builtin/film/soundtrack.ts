// The sound of a film, compressed.

import type { AudioCodec, EncodedPacket } from 'mediabunny'

/** Packets in their order, with the times at which they sound. */
export interface Soundtrack {
  readonly codec: AudioCodec
  readonly decoderConfig: AudioDecoderConfig
  readonly packets: readonly EncodedPacket[]
}
