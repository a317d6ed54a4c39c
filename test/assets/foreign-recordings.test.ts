// Recordings by Debian's FFmpeg, in codecs and containers that programs leave: measured as FFmpeg's own prober measures them.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cutShort, ffmpeg, ffprobeSeconds, look, runFfmpeg } from './recordings.ts'

if (!ffmpeg)
  console.warn(
    'SKIPPED test/assets/foreign-recordings.test.ts: no FFmpeg on this machine. Install it (apt-get install ffmpeg).',
  )

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mediagen-foreign-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

const picture = '-f lavfi -i testsrc2=s=160x120:r=25:d=2.4'
const tone = '-f lavfi -i sine=440:r=44100:d=2.4'

/** Name, FFmpeg's options, type, whether it is decoded without FFmpeg. */
const files = [
  ['baseline.mp4', `${picture} ${tone} -c:v libx264 -profile:v baseline -pix_fmt yuv420p -c:a aac`, 'video/mp4', true],
  [
    'fast-start.mp4',
    `${picture} ${tone} -c:v libx264 -profile:v baseline -pix_fmt yuv420p -c:a aac -movflags +faststart`,
    'video/mp4',
    true,
  ],
  ['high.mp4', `${picture} -c:v libx264 -profile:v high -bf 2 -pix_fmt yuv420p`, 'video/mp4', false],
  ['fragments.mp4', `${picture} -c:v libx264 -pix_fmt yuv420p -movflags frag_keyframe+empty_moov`, 'video/mp4', false],
  ['vp8.webm', `${picture} ${tone} -c:v libvpx -deadline realtime -c:a libopus`, 'video/webm', true],
  ['vp9.webm', `${picture} -c:v libvpx-vp9 -deadline realtime -cpu-used 8`, 'video/webm', false],
  ['sound.m4a', `${tone} -c:a aac`, 'audio/mp4', false],
  ['sound-in.mp4', `${tone} -c:a aac`, 'audio/mp4', false],
  ['sound-in.webm', `${tone} -c:a libopus`, 'audio/webm', true],
  ['sound.aac', `${tone} -c:a aac`, 'audio/aac', false],
  ['sound.mp3', `${tone} -c:a libmp3lame`, 'audio/mpeg', true],
  ['sound.flac', `${tone} -c:a flac`, 'audio/flac', true],
  ['opus.ogg', `${tone} -c:a libopus`, 'audio/ogg', true],
  ['vorbis.ogg', `${tone} -c:a libvorbis`, 'audio/ogg', false],
  ['24-bit.wav', `${tone} -c:a pcm_s24le`, 'audio/wav', true],
  ['float.wav', `${tone} -c:a pcm_f32le`, 'audio/wav', true],
] as const

const withFfmpeg = describe.skipIf(!ffmpeg)

withFfmpeg('files of FFmpeg', { timeout: 60_000 }, () => {
  test.each(files)('%s', async (name, options, contentType, isDecodedHere) => {
    const path = join(folder, name)
    runFfmpeg(`${options} ${path}`)
    const seen = await look(path)
    const size = contentType.startsWith('video/') ? { width: 160, height: 120 } : { width: null, height: null }
    expect(seen).toMatchObject({ contentType, ...size, hasPreview: isDecodedHere })
    expect(Math.abs((seen.durationSeconds ?? 0) - ffprobeSeconds(path))).toBeLessThan(0.05)
    for (const share of [0.4, 0.87])
      await expect(cutShort(path, share).then((cut) => look(cut))).rejects.toMatchObject({ code: 'output_invalid' })

    // With FFmpeg everything is decoded.
    const decoded = await look(path, ffmpeg?.ffmpeg)
    expect(decoded).toMatchObject({ contentType, ...size, hasPreview: true })
    if (size.width === null) return
    const { dominant } = await sharp(decoded.preview).stats()
    expect(Math.max(dominant.r, dominant.g, dominant.b)).toBeGreaterThan(100)
  })

  test('a video that was turned, and one of oblong pixels, are measured as they are shown', async () => {
    const [plain, turned, oblong] = ['plain.mp4', 'turned.mp4', 'oblong.mp4'].map((name) => join(folder, name))
    const baseline = '-c:v libx264 -profile:v baseline -pix_fmt yuv420p'
    runFfmpeg(`${picture} ${baseline} ${plain}`)
    runFfmpeg(`-i ${plain} -c copy -metadata:s:v:0 rotate=90 ${turned}`)
    runFfmpeg(`${picture} -vf setsar=2/1 ${baseline} ${oblong}`)
    const rotated = await look(turned ?? '')
    expect(rotated).toMatchObject({ width: 120, height: 160 })
    expect(await sharp(rotated.preview).metadata()).toMatchObject({ width: 120, height: 160 })
    // The same picture as FFmpeg shows, the right way up.
    const theirs = await look(turned ?? '', ffmpeg?.ffmpeg)
    expect(rotated.blurhash?.slice(0, 2)).toBe(theirs.blurhash?.slice(0, 2))
    const [ours, expected] = await Promise.all(
      [rotated.blurhash, theirs.blurhash].map(async (hash) => (await import('blurhash')).decode(hash ?? '', 6, 8)),
    )
    const differences = [...(ours ?? [])].map((value, at) => Math.abs(value - (expected?.[at] ?? 0)))
    expect(differences.reduce((sum, value) => sum + value, 0) / differences.length).toBeLessThan(8)
    expect(await look(oblong ?? '')).toMatchObject({ width: 320, height: 120 })
  })

  test('a codec that nobody plays is named', async () => {
    const path = join(folder, 'old.mp4')
    runFfmpeg(`${picture} -c:v mpeg4 ${path}`)
    await expect(look(path)).rejects.toMatchObject({
      code: 'output_invalid',
      message: 'Output out holds video in a codec that is not known here (mp4v).',
    })
  })
})
