// Speech through the engine: its times, its loudness, and errors for texts that cannot be spoken. Every format and voice: speech.long.test.ts.

import { expect, test } from 'vitest'
import { measureLoudness } from '../src/sound/loudness.ts'
import { durationSeconds } from '../src/sound/sound.ts'
import { splitSentences } from '../src/speech/sentences.ts'
import { speak } from '../src/speech/speak.ts'
import { renderSpeech } from '../src/speech/speech.ts'
import { toSpoken } from '../src/speech/spoken.ts'
import { levelOf, openSoundModel } from './sounds.ts'

const id = 'builtin/audio/speech/text-to-speech'
const text = 'Good evening. The last train leaves at half past ten, from platform four.'
const { run: say, watch } = openSoundModel(id)

test('more text takes longer, more speed takes less; progress rises', async () => {
  const [short, long, fast] = [
    await say({ text }),
    await say({ text: `${text} ${text}` }),
    await say({ text, speed: 2 }),
  ]
  const seconds = [short, long, fast].map(({ usage }) => usage['seconds'] ?? 0)
  expect((seconds[1] ?? 0) / (seconds[0] ?? 1)).toBeGreaterThan(1.7)
  expect((seconds[2] ?? 0) / (seconds[0] ?? 1)).toBeLessThan(0.7)
  const progress = await watch(renderSpeech, { text: `${text} ${text}` })
  expect(progress.length).toBeGreaterThanOrEqual(10)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})

test('speech is at -16 LUFS, and silent where the times say that nobody speaks', async () => {
  const { sound, sentences } = await speak('One, two, three. Four!\n\nFive and six?', { voice: 'slt', speed: 1 })
  const [samples = new Float32Array(0)] = sound.channels
  expect(Math.abs(measureLoudness(sound) + 16)).toBeLessThan(1)
  expect(sentences.map((sentence) => sentence.text)).toEqual(['One, two, three.', 'Four!', 'Five and six?'])
  let end = 0
  for (const sentence of sentences) {
    expect(sentence.start).toBeGreaterThan(end)
    expect(levelOf(samples, end + 0.1, sentence.start - 0.05)).toBeLessThan(0.005)
    expect(levelOf(samples, sentence.start, sentence.end)).toBeGreaterThan(0.05)
    expect(sentence.words.map((word) => word.text).join(' ')).toBe(sentence.text)
    for (const word of sentence.words) expect(word.end).toBeGreaterThan(word.start)
    expect(sentence.words[0]?.start).toBeCloseTo(sentence.start, 2)
    expect(sentence.words.at(-1)?.end).toBeCloseTo(sentence.end, 2)
    end = sentence.end
  }
  expect(end).toBeLessThan(durationSeconds(sound))
  // The empty line makes the longer pause.
  const [one, four, five] = sentences
  expect((five?.start ?? 0) - (four?.end ?? 0)).toBeGreaterThan((four?.start ?? 0) - (one?.end ?? 0) + 0.2)
})

test.each([
  ['你好, world', /^text .*“你” \(U\+4F60\), “好”.*English/],
  ['Привет', /“П” \(U\+041F\)/],
  ['Hi 🎉!', /“🎉” \(U\+1F389\)/],
  ['x\u0007', /U\+0007/],
])('%s is refused in words', async (words, message) => {
  await expect(say({ text: words })).rejects.toMatchObject({
    name: 'EngineError',
    code: 'invalid_input',
    message: expect.stringMatching(message),
    retryable: false,
  })
})

test('what takes too long to say is refused in words', async () => {
  await expect(speak('7 ± 2\n\n'.repeat(20), { voice: 'slt', speed: 1, mostSeconds: 10 })).rejects.toMatchObject({
    name: 'EngineError',
    code: 'invalid_input',
    message: expect.stringMatching(/^text takes more than 10 s to say/),
  })
})

test.each([
  ['Naïve façade in Łódź, “quoted” – really…', 'Naive facade in Lodz, quoted, really...'],
  ['on 2026-11-21', 'on November 21, twenty twenty six'],
  ['in 1905 and in 2003', 'in nineteen oh five and in two thousand three'],
  ['£20, €30.50 and $5m; $3.20 stays', '20 pounds, 30 euros fifty and 5 million dollars; $3.20 stays'],
  ['see https://example.com/a?b=1 now', 'see example dot com slash a question mark b equals 1 now'],
  ['bob.smith@example.com', 'bob dot smith at example dot com'],
  ['20°C at 20km/h', '20 degrees Celsius at 20 kilometers per hour'],
  ['e.g. AT&T vs. the UK & co.', 'for example A T and T versus the U K and co.'],
  ['Node.js v1.2.3 (beta)', 'Node dot js version 1 point 2 point 3, beta,'],
  ['80 kg, 1 km, 5 ft 10, 3 m²', '80 kilograms, 1 kilometer, 5 feet 10, 3 square meters'],
  ['100 kWh in 45 min. at 60 fps', '100 kilowatt hours in 45 minutes at 60 frames per second'],
  ['2½ cups and ¾ tsp', '2 1/2 cups and three quarters teaspoon'],
  ['£1.20, $0.99, €1 and ¥500', '1 pound twenty, 99 cents, 1 euro and 500 yen'],
  ['the 1980s and the ’90s', 'the nineteen eighties and the nineties'],
  ['1999–2003, Mon-Fri 9am-5pm', 'nineteen ninety nine to two thousand three, Monday to Friday 9 a.m. to 5 p.m.'],
  ['on 11/21/2026 or 21.11.2026', 'on November 21, twenty twenty six or November 21, twenty twenty six'],
  ['Nov 21st, 2026; Dec. 2024', 'November 21st, twenty twenty six; December twenty twenty four'],
  ['in 1900 and 2010 people', 'in nineteen hundred and 2010 people'],
  ['Mt. Hood, Prof. Lee, Ph.D.', 'Mount Hood, Professor Lee, P H D'],
  ['SQLite on GitHub, McDonald on macOS', 'S Q Lite on Git Hub, McDonald on mac O S'],
  ['C# on .NET, 24/7, $5/month', 'C sharp on dot net, twenty four seven, $5 per month'],
  ['3x, 3M users, 10k', '3 times, 3 million users, 10 thousand'],
  ['It helps US', 'It helps U S'],
  ['IT WORKS FOR US.', 'IT WORKS FOR US.'],
  ['I want to read what I read.', 'I want to reed what I read.'],
  ['We live for live music with 16 GB', 'We liv for live music with 16 gigga bytes'],
])('%s is said as %s', (written, spoken) => {
  expect(toSpoken(written)).toBe(spoken)
})

test('sentences end where a reader would end them', () => {
  const pieces = splitSentences('Dr. A. Smith left at 5 p.m. for tea.Then see example.com?q=1 now. End\n- one\n- two')
  expect(pieces.map((piece) => piece.text)).toEqual([
    'Dr. A. Smith left at 5 p.m. for tea.',
    'Then see example.com?q=1 now.',
    'End',
    '- one',
    '- two',
  ])
  const long = splitSentences('word '.repeat(400))
  expect(Math.max(...long.map((piece) => piece.text.length))).toBeLessThanOrEqual(240)
})
