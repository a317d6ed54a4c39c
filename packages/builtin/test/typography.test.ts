// Letters stand as a typographer would set them: edges flush, emoji as high as what is beside them, no holes between signs,
// kerning across font files, and lines that end where a reader does not stumble.

import { createCanvas } from '@napi-rs/canvas'
import { describe, expect, test } from 'vitest'
import { splitUnits } from '../src/text/breaks.ts'
import { drawText, measureBounds, measureText, type TextStyle } from '../src/text/draw.ts'
import { fitText } from '../src/text/fit.ts'
import { toCapitals } from '../src/text/runs.ts'

/** Where the ink of a text is, in pixels from where it was drawn to, at a size of 300. */
function inkOf(text: string, style: TextStyle & { align?: 'left' | 'center' | 'right' }) {
  const [width, height, x, y] = [2400, 900, 1200, 600]
  const context = createCanvas(width, height).getContext('2d')
  drawText(context, text, x, y, { ...style, size: 300, color: '#000' })
  const { data } = context.getImageData(0, 0, width, height)
  let [left, right, top, bottom] = [width, 0, height, 0]
  for (let pixel = 0; pixel < width * height; pixel++) {
    if ((data[pixel * 4 + 3] as number) < 64) continue
    left = Math.min(left, pixel % width)
    right = Math.max(right, (pixel % width) + 1)
    top = Math.min(top, Math.floor(pixel / width))
    bottom = Math.max(bottom, Math.floor(pixel / width) + 1)
  }
  return { left: left - x, right: right - x, above: y - top, below: bottom - y }
}

describe('emoji are a fifth higher than the capitals beside them, and in their middle', () => {
  test.each([
    ['sans', 400, false],
    ['sans', 900, true],
    ['serif', 300, true],
    ['serif', 600, false],
  ] as const)('%s, weight %d, display %s', (letters, weight, display) => {
    const style = { letters, weight, display, emoji: 'capitals' } as const
    const capitals = inkOf('H', style)
    const emoji = inkOf('😀', style)
    const [cap, tall] = [capitals.above + capitals.below, emoji.above + emoji.below]
    expect(tall / cap).toBeGreaterThan(1.15)
    expect(tall / cap).toBeLessThan(1.25)
    const middle = (ink: typeof emoji): number => (ink.above - ink.below) / 2
    expect(Math.abs(middle(emoji) - middle(capitals)) / cap).toBeLessThan(0.03)
  })

  test.each(['sans', 'serif'] as const)('and as high as ideographs (%s)', (letters) => {
    const style = { letters, weight: 500, emoji: 'ideographs' } as const
    const [character, emoji] = [inkOf('国', style), inkOf('😀', style)]
    expect((emoji.above + emoji.below) / (character.above + character.below)).toBeCloseTo(1, 1)
    expect(Math.abs(emoji.above - emoji.below - (character.above - character.below))).toBeLessThan(24)
  })
})

describe('a line stands flush by its ink', () => {
  const cases = ['The', 'Hush', 'WAVE', '「夏の', 'のへ」', '“Quote”', 'Ночь', 'ตลาด', 'रात', 'カフの', 'Aж', 'Aθж 1']
  test.each(cases.flatMap((text) => [0, -0.045, 0.1].map((letterSpacing) => [text, letterSpacing] as const)))(
    '%s, spaced by %f',
    (text, letterSpacing) => {
      const style = { weight: 700, letterSpacing, display: true } as const
      expect(Math.abs(inkOf(text, { ...style, align: 'left' }).left)).toBeLessThanOrEqual(3)
      expect(Math.abs(inkOf(text, { ...style, align: 'right' }).right)).toBeLessThanOrEqual(3)
      const { left, right } = inkOf(text, { ...style, align: 'center' })
      expect(Math.abs(left + right)).toBeLessThanOrEqual(6)
    },
  )
})

test('the tail of a letter hangs out of the line, so that stems stand below each other', () => {
  const style = { weight: 700, display: true, align: 'left' } as const
  expect(inkOf('j', style).left).toBeLessThan(-6)
  expect(inkOf('ıj', style).left).toBeGreaterThan(-2)
})

describe('full-width signs in a row take half the room', () => {
  const style = { weight: 500 } as const
  test.each([
    ['」「', 1.5],
    ['、「', 1.5],
    ['）。', 1.5],
    ['『「', 1.5],
    ['夏「', 2],
    ['！！', 2],
  ])('%s', (text, width) => {
    for (const letters of ['sans', 'serif'] as const)
      expect(measureText(text, { ...style, letters, language: 'ja' })).toBeCloseTo(width, 2)
  })

  test('but not where a sign stands in the middle of its square, as in Taiwan', () => {
    expect(measureText('。」', { ...style, language: 'zh-Hant' })).toBeCloseTo(2, 2)
    expect(measureText('。”', { ...style, language: 'zh-Hans' })).toBeCloseTo(1.5, 2)
  })
})

test.each([
  ['Tę', 'Te'],
  ['Wą', 'Wa'],
  ['Vě', 'Ve'],
  ['Tở', 'To'],
])('%s is kerned as %s, though its letters are in two files', (accented, plain) => {
  const style = { weight: 500, display: true, letters: 'serif' } as const
  const kerning = (text: string): number => {
    const [first = '', second = ''] = text.normalize('NFC')
    return measureText(text, style) - measureText(first, style) - measureText(second, style)
  }
  expect(kerning(plain)).toBeLessThan(-0.03)
  expect(kerning(accented)).toBeCloseTo(kerning(plain), 2)
})

test('a word is set in one typeface, even where another one has most of it', () => {
  const style = { weight: 500, letters: 'serif', display: true } as const
  // ᾳ and ῆ are in Noto Serif alone: so are the letters beside them.
  expect(measureBounds('Ἀθῆναι', style).width).not.toBeCloseTo(measureBounds('Αθήναι', style).width, 2)
})

describe('lines end where a reader does not stumble', () => {
  const parts = (text: string, level: Parameters<typeof splitUnits>[1]): string =>
    splitUnits(text, level, 'ja')
      .map((unit) => unit.text + unit.hyphen)
      .join('|')

  test.each([
    ['w Polsce – i co dalej', 'w Polsce –|i co|dalej'],
    ['12 June o 5 €', '12 June|o 5 €'],
    ['Kuchnia № 5', 'Kuchnia|№ 5'],
    ['「夏の夜市」へようこそ', '「夏の夜市」へ|ようこそ'],
    ['ตลาดริมน้ำ ต่าง ๆ นี้', 'ตลาดริมน้ำ|ต่าง ๆ|นี้'],
  ])('%s', (text, expected) => expect(parts(text, 'phrase')).toBe(expected))

  test('Thai breaks between words, although it has no spaces there', () => {
    expect(parts('ตลาดกลางคืนริมแม่น้ำ', 'word')).toBe('ตลาด|กลาง|คืน|ริม|แม่น้ำ')
  })

  test.each([
    ['Donaudampfschifffahrtsgesellschaft', 'Do-|nau-|dampf-|schiff-|fahrts-|ge-|sell-|schaft'],
    ['Incomprehensibilities', 'In-|com-|pre-|hen-|si-|bi-|li-|ties'],
    ['Достопримечательности', 'Дос-|то-|при-|ме-|ча-|тель-|ности'],
    ['Ηλεκτρονικός', 'Ηλεκ-|τρο-|νι-|κός'],
    ['क्षत्रिय', 'क्ष|त्रि|य'],
  ])('%s between syllables, when nothing else helps', (text, expected) => expect(parts(text, 'force')).toBe(expected))

  test('at soft hyphens, which are not seen elsewhere', () => {
    const text = 'Wind\u00ADschutz\u00ADscheibe'
    expect(parts(text, 'soft')).toBe('Wind\u00AD-|schutz\u00AD-|scheibe')
    const style = { weight: 400 } as const
    expect(measureText(text, style)).toBeCloseTo(measureText('Windschutzscheibe', style), 3)
  })

  test('after a comma rather than in the middle of what follows it', () => {
    const room = { width: 700, height: 200, lineHeight: 1.3, minSize: 40, maxSize: 40, maxLines: 2 }
    const { lines } = fitText('Forty kitchens under one roof, from dusk until the last train', { weight: 400 }, room)
    expect(lines.map(({ text }) => text)).toEqual(['Forty kitchens under one roof,', 'from dusk until the last train'])
  })
})

test('two even lines are better than three of which one is short, though they are a little smaller', () => {
  const room = { width: 930, height: 600, lineHeight: 1, minSize: 30, maxSize: 230, maxLines: 9 }
  const style = { weight: 800, display: true } as const
  const linesIn = (steady: boolean): string[] =>
    fitText('Quiet Hours, Open Doors', style, { ...room, steady }).lines.map(({ text }) => text)
  expect(linesIn(false)).toEqual(['Quiet Hours,', 'Open Doors'])
  expect(linesIn(true)).toEqual(['Quiet', 'Hours,', 'Open Doors'])
})

test.each([
  ['Νυχτερινή αγορά', 'ΝΥΧΤΕΡΙΝΗ ΑΓΟΡΑ'],
  ['ışık ile iğne', 'IŞIK İLE İĞNE'],
  ['Straße in Łódź', 'STRASSE IN ŁÓDŹ'],
  ['ijs', 'IJS'],
])('the capitals of %s are %s', (text, expected) => expect(toCapitals(text)).toBe(expected))
