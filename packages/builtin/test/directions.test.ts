// Text runs the right way: Arabic and Hebrew from right to left, numbers and other letters within them in their own order,
// lines broken as they are read and not as they are seen, and posters mirrored for them.

import { createCanvas } from '@napi-rs/canvas'
import createBidi from 'bidi-js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compose, layOut } from '../src/poster/poster.ts'
import type { Theme } from '../src/poster/sheet.ts'
import { themes } from '../src/poster/themes.ts'
import { type Direction, directionOf, toLine } from '../src/text/bidi.ts'
import { drawText, measureBounds, measureText } from '../src/text/draw.ts'
import { fitText } from '../src/text/fit.ts'

const room = { width: 400, height: 900, lineHeight: 1.2, minSize: 20, maxSize: 60, maxLines: 9, steady: true }
const style = { weight: 600 } as const

test.each<[string, Direction]>([
  ['שוק הלילה', 'rtl'],
  ['سوق الليل 2026', 'rtl'],
  ['The word שלום means peace', 'ltr'],
  ['IKEA פותחת סניף חדש', 'rtl'],
  ['🎉 שלום', 'rtl'],
  ['🇮🇱 שלום', 'rtl'],
  ['12:30', 'ltr'],
  ['\u200FHTML 5', 'rtl'],
  ['\u200Eשלום עולם', 'ltr'],
])('%s begins as most of its words do, or as its mark says', (text, direction) => {
  expect(directionOf(text)).toBe(direction)
})

test('a text without letters begins as what it goes with', () => {
  expect(directionOf('12–14', 'rtl')).toBe('rtl')
})

// From left to right as they are seen; what runs from right to left is marked with <.
test.each<[string, string[]]>([
  ['Only letters (and 12)', ['Only letters (and 12)']],
  ['שלום 123 עולם', ['< עולם', '123', '<שלום ']],
  ['מחיר: 1,250.50 (50%)', ['<)', '50%', '< (', '1,250.50', '<מחיר: ']],
  ['IKEA פותחת ב-5!', ['<!', '5', '< פותחת ב-', 'IKEA']],
  ['The word שלום (shalom) means', ['The word ', '<שלום', ' (shalom) means']],
  ['السعر ١٢٫٥ أو 12.5', ['12.5', '< أو ', '١٢٫٥', '<السعر ']],
  ['أ 12-14 ب', ['< ب', '14', '<-', '12', '<أ ']],
  ['שלום 🎉 5', ['5', '<שלום 🎉 ']],
  ['\u200Fabc!', ['<!', 'abc', '<\u200F']],
])('%s is seen in the order of UAX 9', (text, seen) => {
  const { stretches } = toLine(text)
  expect(stretches.map((part) => (part.direction === 'rtl' ? '<' : '') + part.text)).toEqual(seen)
})

test('any line is seen as the reference puts its characters', () => {
  const reference = createBidi() as ReturnType<typeof createBidi> & {
    getReorderSegments(text: string, levels: object): [number, number][]
  }
  const characters = fc.string({ unit: fc.constantFrom(...'אבسعab12١ .,()-'), maxLength: 24 })
  // White space at its end belongs to no line.
  const lines = characters.map((text) => `${text}.`)
  fc.assert(
    fc.property(lines, fc.constantFrom('ltr', 'rtl'), (text, direction) => {
      const seen = toLine(text, direction).stretches.map((part) =>
        part.direction === 'rtl' ? Array.from(part.text).toReversed().join('') : part.text,
      )
      const expected = Array.from(text)
      for (const [first, last] of reference.getReorderSegments(text, reference.getEmbeddingLevels(text, direction)))
        expected.splice(first, last + 1 - first, ...expected.slice(first, last + 1).toReversed())
      expect(seen.join('')).toBe(expected.join(''))
    }),
    { numRuns: 2000 },
  )
})

describe('lines of a paragraph', () => {
  test('are cut in the order in which they are read', () => {
    const text = 'ארבעים מטבחים תחת קורת גג אחת, מרדת החשכה ועד הרכבת האחרונה של 2026'
    const { lines, direction } = fitText(text, style, room)
    expect(direction).toBe('rtl')
    expect(lines.length).toBeGreaterThan(2)
    expect(lines.map((line) => line.text).join(' ')).toBe(text)
  })

  test('keep the direction that their paragraph has, and numbers what the line before them makes of them', () => {
    const { lines } = fitText('פתוח בכל ימות השבוע עד השעה 23:30 (Monday to Friday) בלבד', style, {
      ...room,
      width: 260,
      minSize: 36,
      maxSize: 36,
    })
    const last = lines.find(({ text }) => text.includes('Monday'))
    // The bracket before Monday stands at its right, as in the whole sentence.
    expect(last?.stretches.at(-1)?.direction).toBe('rtl')
  })

  test('never part joined letters, however long a word is', () => {
    const word = 'المستشفياتوالجامعاتوالمدارسوالمكتبات'
    expect(fitText(word, style, { ...room, width: 120 }).lines).toHaveLength(1)
  })
})

describe('what is drawn', () => {
  const pixelsOf = (text: string, direction: Direction): string => {
    const context = createCanvas(300, 100).getContext('2d')
    drawText(context, text, 10, 70, { ...style, size: 60, color: '#000', direction })
    return Buffer.from(context.getImageData(0, 0, 300, 100).data.buffer).toString('base64')
  }

  test('brackets are mirrored', () => expect(pixelsOf('(', 'rtl')).toBe(pixelsOf(')', 'ltr')))

  test('Arabic letters join: a word is narrower than its letters', () => {
    const width = (text: string): number => measureText(text, style)
    expect(width('سسسس')).toBeLessThan(3.7 * width('س'))
    expect(width('لا')).toBeLessThan(width('ل') + width('ا'))
  })

  test('a joiner that keeps letters apart is obeyed', () => {
    expect(measureText('می‌خواهم', style)).not.toBeCloseTo(measureText('میخواهم', style), 3)
  })

  test.each(['שלום', 'سوق الليل', 'IKEA פותחת!', '(שלום)'])(
    '%s stands with its right edge where it was asked to',
    (text) => {
      const look = { ...style, size: 100, color: '#000', align: 'right' } as const
      const context = createCanvas(1000, 200).getContext('2d')
      drawText(context, text, 900, 130, look)
      const { data } = context.getImageData(0, 0, 1000, 200)
      const columns = Array.from({ length: 1000 }, (_, x) => x).filter((x) =>
        Array.from({ length: 200 }, (_, y) => data[(y * 1000 + x) * 4 + 3] as number).some((alpha) => alpha > 60),
      )
      const { left, right } = measureBounds(text, look)
      expect(Math.abs((columns.at(-1) ?? 0) + 1 - 900)).toBeLessThanOrEqual(1.5)
      expect(Math.abs((columns[0] ?? 0) - (900 - 100 * (right - left)))).toBeLessThanOrEqual(1.5)
    },
  )
})

test.each(Object.keys(themes))('the poster %s is mirrored for a headline from right to left', (name) => {
  const theme = themes[name] as Theme
  const words = (title: string) => {
    const sheet = layOut({ title, subtitle: 'abc', footer: '12', theme: name, size: 'wide' })
    return { width: sheet.width, ...compose(theme, sheet) }
  }
  const [ltr, rtl] = [words('abc'), words('שלום')]
  expect(rtl.backdrop).toContain('scale(-1 1)')
  expect(ltr.backdrop).not.toContain('scale(-1 1)')
  for (const [index, mark] of ltr.words.entries()) {
    const other = rtl.words[index]
    if (mark.kind !== 'text' || other?.kind !== 'text') throw new Error('There are texts only.')
    expect(other.x).toBeCloseTo(ltr.width - mark.x)
    expect([mark.look.align ?? 'left', other.look.align]).toEqual(
      mark.look.align === 'center'
        ? ['center', 'center']
        : mark.look.align === 'right'
          ? ['right', 'left']
          : ['left', 'right'],
    )
  }
})
