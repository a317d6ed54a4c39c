// Recordings by Debian's FFmpeg, in codecs and containers that programs leave: measured as FFmpeg's own prober measures them.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cutShort, ffmpeg, ffprobeSeconds, garble, look, runFfmpeg } from './recordings.ts'

if (!ffmpeg)
  console.warn(
    'SKIPPED test/assets/foreign-recordings.long.test.ts: no FFmpeg on this machine. Install it (apt-get install ffmpeg).',
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
// Most films have few of them; a poster is the key frame before its moment where the others are not decoded.
const keys = '-g 12 -keyint_min 12'

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
  ['hevc.mp4', `${picture} -c:v libx265 -x265-params log-level=none:keyint=12 -tag:v hvc1`, 'video/mp4', true],
  [
    'hevc-10-bit.mp4',
    `${picture} ${tone} -c:v libx265 -x265-params log-level=none:keyint=12 -pix_fmt yuv420p10le -c:a aac`,
    'video/mp4',
    true,
  ],
  ['av1.mp4', `${picture} ${tone} -c:v libaom-av1 -cpu-used 8 ${keys} -c:a aac`, 'video/mp4', true],
  ['av1.webm', `${picture} -c:v libaom-av1 -cpu-used 8 ${keys}`, 'video/webm', true],
  ['av1-10-bit.mp4', `${picture} -c:v libaom-av1 -cpu-used 8 ${keys} -pix_fmt yuv420p10le`, 'video/mp4', true],
  ['av1-rgb.mp4', `${picture} -c:v libaom-av1 -cpu-used 8 ${keys} -pix_fmt gbrp`, 'video/mp4', true],
  ['vp8.webm', `${picture} ${tone} -c:v libvpx -deadline realtime -c:a libopus`, 'video/webm', true],
  ['vp9.webm', `${picture} ${tone} -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libvorbis`, 'video/webm', true],
  ['vp9.mp4', `${picture} -c:v libvpx-vp9 -deadline realtime -cpu-used 8`, 'video/mp4', true],
  ['vp9-10-bit.webm', `${picture} -c:v libvpx-vp9 -cpu-used 8 -pix_fmt yuv420p10le`, 'video/webm', false],
  ['sound.m4a', `${tone} -c:a aac`, 'audio/mp4', true],
  ['sound-of-six-channels.m4a', `${tone} -ac 6 -c:a aac`, 'audio/mp4', true],
  ['sound-in.mp4', `${tone} -c:a aac`, 'audio/mp4', true],
  ['sound-in.webm', `${tone} -c:a libopus`, 'audio/webm', true],
  ['vorbis-in.webm', `${tone} -c:a libvorbis`, 'audio/webm', true],
  ['sound.aac', `${tone} -c:a aac`, 'audio/aac', true],
  ['sound.mp3', `${tone} -c:a libmp3lame`, 'audio/mpeg', true],
  ['sound.flac', `${tone} -c:a flac`, 'audio/flac', true],
  ['opus.ogg', `${tone} -c:a libopus`, 'audio/ogg', true],
  ['vorbis.ogg', `${tone} -c:a libvorbis`, 'audio/ogg', true],
  ['ac-3.mp4', `${tone} -c:a ac3`, 'audio/mp4', false],
  ['8-bit.wav', `${tone} -c:a pcm_u8`, 'audio/wav', true],
  ['24-bit.wav', `${tone} -c:a pcm_s24le`, 'audio/wav', true],
  ['32-bit.wav', `${tone} -c:a pcm_s32le`, 'audio/wav', true],
  ['float.wav', `${tone} -c:a pcm_f32le`, 'audio/wav', true],
  ['double.wav', `${tone} -c:a pcm_f64le`, 'audio/wav', true],
  ['telephone.wav', `${tone} -c:a pcm_mulaw`, 'audio/wav', true],
] as const

function meanDifference(one: Uint8Array, other: Uint8Array): number {
  expect(one.length).toBe(other.length)
  return one.reduce((sum, value, at) => sum + Math.abs(value - (other[at] ?? 0)), 0) / one.length
}

const withFfmpeg = describe.skipIf(!ffmpeg)

withFfmpeg('files of FFmpeg', () => {
  test.each(files)('%s', async (name, options, contentType, isDecodedHere) => {
    const path = join(folder, name)
    runFfmpeg(`${options} ${path}`)
    const seen = await look(path)
    const size = contentType.startsWith('video/') ? { width: 160, height: 120 } : { width: null, height: null }
    expect(seen).toMatchObject({ contentType, ...size, hasPreview: isDecodedHere })
    expect(Math.abs((seen.durationSeconds ?? 0) - ffprobeSeconds(path))).toBeLessThan(0.05)
    for (const share of [0.4, 0.87])
      await expect(cutShort(path, share).then((cut) => look(cut))).rejects.toMatchObject({ code: 'output_invalid' })

    // With FFmpeg everything is decoded, and what is decoded here looks the same.
    const ours = isDecodedHere ? await sharp(seen.preview).raw().toBuffer() : null
    const decoded = await look(path, ffmpeg?.ffmpeg)
    expect(decoded).toMatchObject({ contentType, ...size, hasPreview: true })
    const theirs = await sharp(decoded.preview).raw().toBuffer()
    if (ours) expect(meanDifference(ours, theirs)).toBeLessThan(10)
    if (size.width === null) return
    const { dominant } = await sharp(decoded.preview).stats()
    expect(Math.max(dominant.r, dominant.g, dominant.b)).toBeGreaterThan(100)
  })

  const noisy = new Set<string>(['baseline.mp4', 'hevc.mp4', 'av1.mp4', 'vp9.webm', 'sound.m4a', 'vorbis-in.webm'])
  const toGarble = files.filter(([name]) => noisy.has(name))
  test.each(toGarble)('%s: whole, with noise in place of what it holds', async (name, options, contentType) => {
    const path = join(folder, `noise-${name}`)
    runFfmpeg(`${options} ${path}`)
    for (const kind of [contentType.startsWith('video/') && 'video', options.includes(tone) && 'audio'] as const)
      if (kind)
        await expect(garble(path, kind).then((garbled) => look(garbled))).rejects.toMatchObject({
          code: 'output_invalid',
          message: expect.stringMatching(/^Output out (is a damaged file|does not begin with|has sound of which only)/),
          retryable: false,
        })
  })

  test.each(['av1', 'hevc'] as const)('%s: frames that are not as large as their file says', async (codec) => {
    const path = join(folder, `liar-${codec}.mp4`)
    const encoder = codec === 'av1' ? 'libaom-av1 -cpu-used 8' : 'libx265 -x265-params log-level=none'
    runFfmpeg(`${picture} -c:v ${encoder} ${path}`)
    const content = await readFile(path)
    // The sample entry: 160 by 120 pixels at 72 dots an inch.
    const at = content.indexOf(Buffer.from('00a0007800480000', 'hex'))
    content.writeUInt16BE(320, at)
    await writeFile(path, content)
    await expect(look(path)).rejects.toMatchObject({ code: 'output_invalid' })
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

  test.each([
    ['late.mp4', '-c:v libx264 -profile:v baseline -pix_fmt yuv420p -c:a aac'],
    ['late.webm', '-c:v libvpx -deadline realtime -c:a libopus'],
  ] as const)('%s: a sound that begins long after its film is heard from there on', async (name, codecs) => {
    const path = join(folder, name)
    const later = tone.replace('-f lavfi', '-itsoffset 1.5 -f lavfi')
    runFfmpeg(`${picture} ${later} ${codecs} ${path}`)
    for (const ffmpegPath of [null, ffmpeg?.ffmpeg ?? '']) {
      const seen = await look(path, ffmpegPath)
      expect(seen).toMatchObject({ width: 160, height: 120, hasPreview: true })
      expect(seen.durationSeconds).toBeCloseTo(3.9, 1)
    }
    await expect(garble(path, 'audio').then((garbled) => look(garbled))).rejects.toMatchObject({
      code: 'output_invalid',
    })
  })

  test('an unsupported codec is named', async () => {
    const path = join(folder, 'old.mp4')
    runFfmpeg(`${picture} -c:v mpeg4 ${path}`)
    await expect(look(path)).rejects.toMatchObject({
      code: 'output_invalid',
      message: 'Output out holds video in an unknown codec (mp4v).',
    })
  })
})
