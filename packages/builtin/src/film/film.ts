// A film: frames go in, one file with picture and sound comes out.

import { setImmediate } from 'node:timers/promises'
import { openFfmpegWriter } from './ffmpeg.ts'
import { fitSound } from './soundtrack.ts'
import { type FilmFile, openBuiltinWriter } from './writer.ts'
import { createYuvConverter, yuvBytes } from './yuv.ts'

/** What a film will be. */
export interface FilmOptions extends FilmFile {
  /** Path of an ffmpeg that is to encode; null for the encoders that ship. */
  readonly ffmpeg: string | null
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

/**
 * Opens a film; its sound is cut or filled up with silence to the length of its pictures.
 * Between frames it yields, so that messages are heard and memory is given back.
 */
export async function openFilm(options: FilmOptions): Promise<Film> {
  const { width, height, fps, frames, ffmpeg } = options
  if (width % 2 !== 0 || height % 2 !== 0) throw new Error(`A film of ${width} × ${height} cannot be: sides are even`)
  const film = { ...options, sound: options.sound && fitSound(options.sound, frames / fps) }
  const writer = ffmpeg === null ? await openBuiltinWriter(film) : await openFfmpegWriter(ffmpeg, film)
  const convert = createYuvConverter(width, height, writer.matrix)
  const yuv = new Uint8Array(yuvBytes(width, height))
  let added = 0
  return {
    async addFrame(rgba) {
      if (++added > frames) throw new Error(`A film of ${frames} frames was given more`)
      convert(rgba, yuv)
      await writer.write(yuv)
      await setImmediate()
    },
    async close() {
      if (added !== frames) throw new Error(`A film of ${frames} frames was given ${added}`)
      await writer.finish()
    },
    [Symbol.asyncDispose]: () => writer.close(),
  }
}
