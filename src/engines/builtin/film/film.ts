// A film: frames go in, one file with picture and sound comes out.

import { stat } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { Sound } from '../sound/sound.ts'
import { type Container, type FilmFormat, openContainer } from './container.ts'
import type { Pace, VideoEncoder, VideoPacket } from './encoder.ts'
import { openH264 } from './h264.ts'
import { createSoundtrack, fitSound } from './soundtrack.ts'
import { openVp8 } from './vp8.ts'
import { createYuvConverter, yuvBytes } from './yuv.ts'

/** What a film will be. */
export interface FilmOptions extends Pace {
  readonly file: string
  readonly format: FilmFormat
  /** Exactly how many frames will be added. */
  readonly frames: number
  /** Fitted to the length of the pictures; null for a silent film. */
  readonly sound: Sound | null
}

/** A film in the making; disposing of it before `close` leaves an unfinished file. */
export interface Film extends AsyncDisposable {
  /**
   * Adds the next frame.
   * @param rgba opaque pixels, 8 bits each of red, green, blue and alpha, row by row; may be used again afterwards
   */
  addFrame(rgba: Uint8Array | Uint8ClampedArray): Promise<void>
  /** Finishes the file; all frames must have been added. */
  close(): Promise<void>
}

/** Opens a film. Between frames it yields, so that messages are heard and memory is given back. */
export async function openFilm(options: FilmOptions): Promise<Film> {
  const { width, height, fps, frames, file, format } = options
  if (width % 2 !== 0 || height % 2 !== 0) throw new Error(`A film of ${width} × ${height} cannot be: sides are even`)
  const pace = { width, height, fps }
  await using parts = new AsyncDisposableStack()
  const encoder: VideoEncoder = format === 'mp4' ? await openH264(pace) : await openVp8(pace)
  parts.defer(() => encoder.close())
  const soundtrack = options.sound && (await createSoundtrack(fitSound(options.sound, frames / fps), format))
  const container: Container = await openContainer(file, format, pace, frames, soundtrack)
  let finished = false
  parts.defer(() => (finished ? undefined : container.cancel()))

  const convert = createYuvConverter(width, height, encoder.matrix)
  const yuv = new Uint8Array(yuvBytes(width, height))
  let [added, written] = [0, 0]
  const write = async (packets: readonly VideoPacket[]): Promise<void> => {
    for (const packet of packets) await container.add(packet, encoder.format())
    written += packets.length
  }
  const owned = parts.move()
  return {
    async addFrame(rgba) {
      if (++added > frames) throw new Error(`A film of ${frames} frames was given more`)
      convert(rgba, yuv)
      await write(await encoder.encode(yuv))
      await setImmediate()
    },
    async close() {
      await write(await encoder.flush())
      if (written !== frames) throw new Error(`Of ${frames} frames ${added} were added and ${written} written`)
      await container.finish()
      finished = true
      if ((await stat(file)).size === 0) throw new Error('The film is empty')
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
