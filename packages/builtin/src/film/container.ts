// The file of a film: puts compressed frames and compressed sound side by side, the sound no further ahead than it must be.

import { open } from 'node:fs/promises'
import {
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  FilePathTarget,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from 'mediabunny'
import { clearMp4Times } from '../sound/reproducible.ts'
import type { Pace, VideoFormat, VideoPacket } from './encoder.ts'
import type { Soundtrack } from './soundtrack.ts'

/** The containers that there are. */
export type FilmFormat = 'mp4' | 'webm'

/** A file that is being written. */
export interface Container {
  /** Adds the next frame. */
  add(packet: VideoPacket, format: VideoFormat): Promise<void>
  /** Writes whatever is left. */
  finish(): Promise<void>
  /** Closes the file without finishing it. */
  cancel(): Promise<void>
}

const matrices = { bt709: 'bt709', bt601: 'smpte170m' } as const

/**
 * Starts a file.
 * @param frames exactly how many frames there will be: an MP4 keeps room for its index in front of them
 */
export async function openContainer(
  file: string,
  kind: FilmFormat,
  pace: Pace,
  frames: number,
  soundtrack: Soundtrack | null,
): Promise<Container> {
  const index: Index = { data: null, position: 0 }
  const format =
    kind === 'mp4'
      ? new Mp4OutputFormat({
          fastStart: 'reserve',
          onMoov: (data, position) => Object.assign(index, { data: data.slice(), position }),
        })
      : new WebMOutputFormat()
  const output = new Output({ format, target: new FilePathTarget(file) })
  const video = new EncodedVideoPacketSource(kind === 'mp4' ? 'avc' : 'vp8')
  output.addVideoTrack(video, { frameRate: pace.fps, maximumPacketCount: frames })
  const audio = soundtrack && new EncodedAudioPacketSource(soundtrack.codec)
  if (audio && soundtrack) output.addAudioTrack(audio, { maximumPacketCount: soundtrack.packets.length })
  await output.start()

  let frame = 0
  let silent = soundtrack?.packets ?? []
  const addSoundUntil = async (seconds: number): Promise<void> => {
    if (!soundtrack || !audio) return
    const due = silent.filter(({ timestamp }) => timestamp <= seconds)
    silent = silent.slice(due.length)
    for (const packet of due) await audio.add(packet, { decoderConfig: soundtrack.decoderConfig })
  }
  return {
    async add({ data, isKey }, videoFormat) {
      const packet = new EncodedPacket(data, isKey ? 'key' : 'delta', frame / pace.fps, 1 / pace.fps)
      await video.add(packet, { decoderConfig: toDecoderConfig(pace, videoFormat) })
      frame++
      await addSoundUntil(frame / pace.fps)
    },
    async finish() {
      await addSoundUntil(Infinity)
      await output.finalize()
      if (index.data) await forgetTimes(file, index.data, index.position)
    },
    cancel: () => output.cancel(),
  }
}

interface Index {
  data: Uint8Array | null
  position: number
}

function toDecoderConfig({ width, height }: Pace, { codecString, description, matrix }: VideoFormat) {
  return {
    codec: codecString,
    codedWidth: width,
    codedHeight: height,
    ...(description ? { description } : {}),
    // Pictures are sRGB, whose primaries are those of BT.709 and whose curve players take for that of BT.709.
    colorSpace: { primaries: 'bt709', transfer: 'bt709', matrix: matrices[matrix], fullRange: false } as const,
  }
}

/** Sets the times of creation to zero, which means unknown, so that the same film is the same file. */
async function forgetTimes(file: string, moov: Uint8Array, position: number): Promise<void> {
  clearMp4Times(moov)
  await using handle = await open(file, 'r+')
  await handle.write(moov, 0, moov.length, position)
}
