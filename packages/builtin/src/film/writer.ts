// What turns frames into a file: the encoders that ship, or an ffmpeg of the machine.

import type { Sound } from '../sound/sound.ts'
import { openContainer } from './container.ts'
import type { Pace, VideoEncoder, VideoPacket } from './encoder.ts'
import { openH264 } from './h264.ts'
import { usualQuantizer } from './quality.ts'
import { createSoundtrack } from './soundtrack.ts'
import { openVp8 } from './vp8.ts'
import type { Matrix } from './yuv.ts'

/** The file that is to be written. */
export interface FilmFile extends Pace {
  readonly file: string
  readonly format: 'mp4' | 'webm'
  /** Exactly how many frames there will be. */
  readonly frames: number
  /** As long as the pictures; null for a silent film. */
  readonly sound: Sound | null
  /** Quality by the encoders that ship, see quality.ts. Default: the usual one. */
  readonly quantizer?: number
}

/** Takes frames as planes Y, U and V of limited range. */
export interface FilmWriter {
  readonly matrix: Matrix
  write(yuv: Uint8Array): Promise<void>
  /** Finishes the file. */
  finish(): Promise<void>
  /** Releases everything, even when the file is not finished. */
  close(): Promise<void>
}

/** Opens the writer that uses the encoders of this package. */
export async function openBuiltinWriter(film: FilmFile): Promise<FilmWriter> {
  const { format, frames, file, sound } = film
  const pace: Pace = { width: film.width, height: film.height, fps: film.fps }
  await using parts = new AsyncDisposableStack()
  const { quantizer = usualQuantizer } = film
  const encoder: VideoEncoder = await (format === 'mp4' ? openH264(pace, quantizer) : openVp8(pace, quantizer))
  parts.defer(() => encoder.close())
  const soundtrack = sound && (await createSoundtrack(sound, format))
  const container = await openContainer(file, format, pace, frames, soundtrack)
  let [finished, written] = [false, 0]
  parts.defer(() => (finished ? undefined : container.cancel()))
  const pass = async (packets: readonly VideoPacket[]): Promise<void> => {
    for (const packet of packets) await container.add(packet, encoder.format())
    written += packets.length
  }
  const owned = parts.move()
  return {
    matrix: encoder.matrix,
    async write(yuv) {
      await pass(await encoder.encode(yuv))
    },
    async finish() {
      await pass(await encoder.flush())
      if (written !== frames) throw new Error(`Of ${frames} frames ${written} came out of the encoder`)
      await container.finish()
      finished = true
    },
    close: () => owned.disposeAsync(),
  }
}
