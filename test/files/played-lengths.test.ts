// What encoders add to a sound is not measured, because prices may be by the second. Files of Debian's FFmpeg.
// P221.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { box, cutShort, ffmpeg, look, runFfmpeg } from './recordings.ts'

if (!ffmpeg)
  console.warn(
    'SKIPPED test/assets/played-lengths.test.ts: no FFmpeg on this machine. Install it (apt-get install ffmpeg).',
  )

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mediagen-lengths-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.skipIf(!ffmpeg)('P221: recordings of FFmpeg that last a second', () => {
  const tone = '-f lavfi -i sine=440:r=48000:d=1'
  const film = `-f lavfi -i testsrc2=s=64x48:r=25:d=1 ${tone} -c:v libvpx -deadline realtime`
  const silent = '-fflags +bitexact -movflags +frag_keyframe+empty_moov'

  test.each([
    ['sound.mp3', `${tone} -c:a libmp3lame`, 'audio/mpeg', 'mp3', 1],
    ['sound.m4a', `${tone} -c:a aac`, 'audio/mp4', 'm4a', 1],
    ['stream.m4a', `${tone} -c:a aac ${silent}`, 'audio/mp4', 'm4a', 1.021],
    ['opus.webm', `${tone} -c:a libopus`, 'audio/webm', 'webm', 1],
    ['opus.mka', `${tone} -c:a libopus`, 'audio/matroska', 'mka', 1],
    ['flac.mka', `${tone} -c:a flac`, 'audio/matroska', 'mka', 1],
    ['vorbis.webm', `${tone} -c:a libvorbis`, 'audio/webm', 'webm', 1],
    ['film.webm', `${film} -c:a libopus`, 'video/webm', 'webm', 1],
    ['film-with-opus.mkv', `${film} -c:a libopus`, 'video/matroska', 'mkv', 1],
    ['film-with-aac.mkv', `${film} -c:a aac`, 'video/matroska', 'mkv', 1],
    ['live.mkv', `${film} -c:a pcm_s16le -live 1`, 'video/matroska', 'mkv', 1],
    ['large.wav', `${tone} -rf64 always`, 'audio/wav', 'wav', 1],
    ['phone.m4v', `${film.replace('libvpx', 'libx264')} -pix_fmt yuv420p -c:a aac`, 'video/mp4', 'mp4', 1],
  ] as const)('%s', async (name, options, contentType, extension, durationSeconds) => {
    const path = join(folder, name)
    runFfmpeg(`${options} ${path}`)
    expect(await look(path)).toMatchObject({ contentType, extension, durationSeconds })
    // What is live ends where it ends.
    if (name !== 'live.mkv')
      await expect(cutShort(path, 0.6).then((cut) => look(cut))).rejects.toMatchObject({ code: 'output_invalid' })
  })

  test('a header of a movie, and a tag of iTunes, trim a sound as far as padding goes', async () => {
    const path = join(folder, 'trimmed.m4a')
    const note = 'x'.repeat(160)
    runFfmpeg(`${tone} -c:a aac -metadata comment=${note} ${path}`)
    const content = await readFile(path)
    const duration = content.indexOf('mvhd') + 20
    for (const [stated, played] of [
      [980, 0.98],
      [500, 1],
      [0, 1],
      [1000, 1],
    ] as const) {
      content.writeUInt32BE(stated, duration)
      await writeFile(path, content)
      expect(await look(path)).toMatchObject({ durationSeconds: played })
    }
    for (const [samples, played] of [
      [47_040, 0.98],
      [24_000, 1],
      [0, 1],
    ] as const) {
      const count = samples.toString(16).toUpperCase().padStart(16, '0')
      const tag = ` 00000000 00000840 000001C4 ${count}${' 00000000'.repeat(8)}`
      const freeform = Buffer.concat([
        box('mean', '\0\0\0\0com.apple.iTunes'),
        box('name', '\0\0\0\0iTunSMPB'),
        box('data', '\0\0\0\x01\0\0\0\0', tag.padEnd(note.length - 48)),
      ]).toString('latin1')
      const comment = content.indexOf('\xa9cmt', 0, 'latin1') - 4
      box('----', freeform).copy(content, comment < 0 ? content.indexOf('----') - 4 : comment)
      await writeFile(path, content)
      expect(await look(path)).toMatchObject({ durationSeconds: played })
    }
  })

  test('a sequence of AVIF pictures', async () => {
    const path = join(folder, 'sequence.avif')
    runFfmpeg(`-f lavfi -i testsrc2=s=64x48:r=5:d=1 -c:v libaom-av1 -cpu-used 8 ${path}`)
    expect((await readFile(path)).toString('latin1', 8, 12)).toBe('avis')
    expect(await look(path)).toMatchObject({ contentType: 'image/avif', width: 64, height: 48, hasPreview: true })
  })

  test('a codec that only FFmpeg knows is decoded where there is one', async () => {
    const path = join(folder, 'lossless.m4a')
    runFfmpeg(`${tone} -c:a alac ${path}`)
    await expect(look(path)).rejects.toMatchObject({ message: /unknown codec \(alac\)/ })
    expect(await look(path, ffmpeg?.ffmpeg)).toMatchObject({ contentType: 'audio/mp4', durationSeconds: 1 })
  })
})
