// Speech in every format and by every voice, decoded by another decoder.

import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { findEntry } from '../catalog/entries.ts'
import { decode, hasFfmpeg, levelOf, openSoundModel, peakOf, probe, readWav } from './sounds.ts'

const id = 'builtin/audio/speech/text-to-speech'
const text = 'Good evening. The last train leaves at half past ten, from platform four.'
const { run: say } = openSoundModel(id)

describe.runIf(hasFfmpeg)('decoded by ffmpeg', () => {
  test.each([
    ['wav', 'pcm_s16le'],
    ['mp3', 'mp3'],
    ['flac', 'flac'],
    ['m4a', 'aac'],
    ['ogg', 'opus'],
  ])('speech as %s', async (format, codec) => {
    const { file, name, usage } = await say({ text, format })
    expect(name).toBe(`output.${format}`)
    const found = probe(file)
    expect(found).toMatchObject({ codec, channels: 1, sampleRate: 48_000 })
    expect(Math.abs(found.seconds - (usage['seconds'] ?? 0))).toBeLessThan(0.1)
    const [samples = new Float32Array(0)] = decode(file, 1)
    expect(levelOf(samples)).toBeGreaterThan(0.05)
    expect(peakOf(samples)).toBeLessThan(1)
  })
})

test('every voice speaks, and no two sound the same', async () => {
  const voices = (findEntry(id).input['properties'] as Record<string, { enum: string[] }>)['voice']?.enum ?? []
  expect(voices.length).toBeGreaterThan(4)
  const sums = new Set<string>()
  for (const voice of voices) {
    const { bytes } = await say({ text, voice, format: 'wav' })
    const [samples = new Float32Array(0)] = readWav(bytes)
    expect(levelOf(samples), voice).toBeGreaterThan(0.05)
    sums.add(createHash('sha256').update(bytes).digest('hex'))
  }
  expect(sums.size).toBe(voices.length)
})

test('the same text gives the same bytes, in every format', async () => {
  for (const format of ['mp3', 'wav', 'flac', 'm4a', 'ogg']) {
    const [first, again] = [await say({ text: 'Once more.', format }), await say({ text: 'Once more.', format })]
    expect(again.bytes.equals(first.bytes), format).toBe(true)
  }
})
