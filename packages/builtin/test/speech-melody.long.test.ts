// The melody of speech, measured in the sound: pitch, expression, questions, paragraphs, and breath above the band that Flite makes.

import { describe, expect, test } from 'vitest'
import { applyFilters, highPass, lowPass } from '../src/sound/filter.ts'
import { durationSeconds } from '../src/sound/sound.ts'
import { bendPitch } from '../src/speech/bend.ts'
import { utter } from '../src/speech/flite.ts'
import { shapeSentence } from '../src/speech/prosody.ts'
import { speak, type SpeakOptions } from '../src/speech/speak.ts'
import { type VoiceName, voiceNames, voiceOf } from '../src/speech/voices.ts'
import { levelOf } from './sounds.ts'

const text = 'We were away all winter, and nobody knew where our yellow lorry was.'

async function pitchesOf(voice: VoiceName, words: string, wish: Partial<SpeakOptions> = {}): Promise<number[]> {
  const { sound } = await speak(words, { voice, speed: 1, ...wish })
  return trackPitch(sound.channels[0] ?? new Float32Array(0))
}

/** The pitch in Hz every twenty milliseconds where there is one: by the first high peak of the autocorrelation, at 48 kHz. */
function trackPitch(samples: Float32Array): number[] {
  const every = 6
  const rate = 48_000 / every
  const smooth = applyFilters(samples, [lowPass(48_000, 800), lowPass(48_000, 800)]).filter((_, i) => i % every === 0)
  const [window, shortest, longest] = [320, Math.round(rate / 400), Math.round(rate / 60)]
  const dot = (one: number, other: number): number => {
    let sum = 1e-9
    for (let i = 0; i < window; i++) sum += (smooth[one + i] as number) * (smooth[other + i] as number)
    return sum
  }
  const pitches: number[] = []
  for (let from = 0; from + window + longest < smooth.length; from += rate / 50) {
    const energy = dot(from, from)
    if (energy / window < 0.02 ** 2) continue
    const likeness = Array.from({ length: longest - shortest }, (_, i) => {
      const at = from + shortest + i
      return dot(from, at) / Math.sqrt(energy * dot(at, at))
    })
    const most = Math.max(...likeness)
    const lag = likeness.findIndex(
      (value, i) => value > 0.93 * most && value >= (likeness[i - 1] ?? 2) && value >= (likeness[i + 1] ?? 2),
    )
    if (most > 0.85 && lag > 0) pitches.push(rate / (shortest + lag))
  }
  return pitches
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** The deviation, in semitones. */
function deviationOf(pitches: readonly number[]): number {
  const middle = middleOf(pitches)
  return Math.sqrt(pitches.reduce((sum, hertz) => sum + (12 * Math.log2(hertz / middle)) ** 2, 0) / pitches.length)
}

// Flite chooses the pitch of the one; the sound of the other is bent.
describe.each(['slt', 'rms'] as const)('%s', (voice) => {
  test('pitch is in semitones, and changes no length', async () => {
    const own = middleOf(await pitchesOf(voice, text))
    for (const pitch of [-4, 4]) {
      const ratio = middleOf(await pitchesOf(voice, text, { pitch })) / own
      expect(12 * Math.log2(ratio) - pitch, String(pitch)).toBeCloseTo(0, 0)
    }
    const [plain, high] = [await speak(text, { voice, speed: 1 }), await speak(text, { voice, speed: 1, pitch: 6 })]
    expect(Math.abs(durationSeconds(high.sound) - durationSeconds(plain.sound))).toBeLessThan(0.02)
  })

  test('expression is how far the pitch goes', async () => {
    const [flat, own, wide] = [
      deviationOf(await pitchesOf(voice, text, { expression: 0 })),
      deviationOf(await pitchesOf(voice, text)),
      deviationOf(await pitchesOf(voice, text, { expression: 2 })),
    ]
    expect(flat).toBeLessThan(0.8)
    // As people do.
    expect(own).toBeGreaterThan(1.4)
    expect(wide).toBeGreaterThan(1.4 * own)
  })

  test('a yes-no question ends higher than a statement', async () => {
    const endOf = (pitches: readonly number[]): number => middleOf(pitches.slice(-4))
    const stated = endOf(await pitchesOf(voice, 'You were away in May.'))
    expect(endOf(await pitchesOf(voice, 'You were away in May?')) / stated).toBeGreaterThan(1.15)
  })
})

test('a sound that is bent by nothing is what it was', () => {
  for (const voice of ['slt', 'rms', 'awb'] as const) {
    const { model } = voiceOf(voice)
    const { sound } = utter(text, model, { speed: 1, pitch: 1, spread: 1 })
    const bent = bendPitch(sound, [model.pitch / 2, model.pitch * 1.9], () => 1)
    const [before = [], after = []] = [sound.channels[0], bent.channels[0]]
    expect(after.length).toBe(before.length)
    const margin = sound.sampleRate / 20
    for (let i = margin; i < before.length - margin; i++)
      if (Math.abs((after[i] as number) - (before[i] as number)) > 1e-5) expect(after[i], `${i}`).toBe(before[i])
  }
})

test('no two voices of one model have the same pitch', async () => {
  const middles = new Map<string, number[]>()
  for (const name of voiceNames.filter((voice) => !voice.startsWith('kal'))) {
    const middle = middleOf(await pitchesOf(name, text))
    const others = middles.get(voiceOf(name).model.flite) ?? []
    for (const other of others) expect(Math.abs(12 * Math.log2(middle / other)), name).toBeGreaterThan(0.8)
    middles.set(voiceOf(name).model.flite, [...others, middle])
  }
})

test('people have breath above 10 kHz, robots have none', async () => {
  for (const voice of voiceNames) {
    const { sound } = await speak('She sells sea shells.', { voice, speed: 1 })
    const [samples = new Float32Array(0)] = sound.channels
    const share = levelOf(
      applyFilters(
        samples,
        [10_000, 10_000, 10_000, 10_000].map((hertz) => highPass(48_000, hertz)),
      ),
    )
    const decibels = 20 * Math.log10(share / levelOf(samples))
    if (voice.startsWith('kal')) expect(decibels, voice).toBeLessThan(-45)
    else {
      expect(decibels, voice).toBeGreaterThan(-38)
      expect(decibels, voice).toBeLessThan(-10)
    }
  }
})

test.each([
  ['Are you there?', true],
  ['You are there?', true],
  ['“Isn’t it late?”', true],
  ['Where are you?', false],
  ['Is it tea or coffee?', false],
  ['It is late.', false],
  ['Do it now!', false],
])('%s rises: %s', (sentence, rises) => {
  expect(shapeSentence({ text: sentence, index: 0, count: 1 }).rises).toBe(rises)
})

test('a paragraph begins higher than it ends, and its last sentence is slower', () => {
  const [first, middle, last] = [0, 1, 2].map((index) => shapeSentence({ text: 'So it is.', index, count: 3 }))
  expect(first?.pitch).toBeGreaterThan(middle?.pitch ?? 9)
  expect(middle?.pitch).toBeGreaterThan(last?.pitch ?? 9)
  expect(last?.speed).toBeLessThan(middle?.speed ?? 0)
})

test('times hold in every voice, whatever is done to its sound', async () => {
  for (const voice of voiceNames) {
    const { sound, sentences } = await speak('Is it late? Yes, it is.', {
      voice,
      speed: 1.2,
      pitch: 2,
      expression: 1.4,
    })
    const [samples = new Float32Array(0)] = sound.channels
    const [asked, answered] = sentences
    if (!asked || !answered) throw new Error(`${sentences.length} sentences`)
    for (const { start, end } of [asked, answered]) expect(levelOf(samples, start, end), voice).toBeGreaterThan(0.05)
    expect(levelOf(samples, asked.end + 0.1, answered.start - 0.05), voice).toBeLessThan(0.005)
    expect(levelOf(samples, answered.end + 0.1), voice).toBeLessThan(0.005)
  }
})
