// Text in pictures: every script that is promised is drawn from a font that has it, others are refused by name, and lines
// end where the rules of a script let them.

import { createCanvas } from '@napi-rs/canvas'
import { describe, expect, test } from 'vitest'
import { drawText, measureText } from '../src/text/draw.ts'
import { fitText, heightOf, widthOf } from '../src/text/fit.ts'
import { languageOf } from '../src/text/language.ts'
import { splitRuns, toSettableText } from '../src/text/runs.ts'

const samples: readonly (readonly [script: string, text: string])[] = [
  ['Latin', 'Zażółć gęślą jaźń, çðéøßþ “quoted” – № 5 € → ★'],
  ['Greek', 'Η θάλασσα το πρωί, ᾳ Ἀθῆναι'],
  ['Cyrillic', 'Съешь же ещё этих мягких булок, ђћџ їєґ'],
  ['Vietnamese', 'Chợ đêm Sài Gòn Ễ Ổ Ằ ỵ'],
  ['Chinese, simplified', '我们在夜市里吃小吃、喝茶，一起看星星。“汉语”'],
  ['Chinese, traditional', '台灣夜市：臭豆腐、珍珠奶茶與滷味，讀書'],
  ['Japanese', '夏の夜市、ラーメン「鮮」とﾊﾝｶｸ・ーヶ々'],
  ['Korean', '서울의 밤 시장에 오신 것을 환영합니다 뷁'],
  ['Arabic', 'سوق الليل، مرحبًا؟ ١٢٣ لآلئ'],
  ['Persian and Urdu', 'می‌خواهم کتاب‌ها، گچپژ ۱۲۳ ٹڈڑےہ'],
  ['Hebrew', 'שוק הלילה (בחיפה) ₪ שָׁלוֹם'],
  ['Thai', 'ตลาดกลางคืนริมแม่น้ำ ๕๐ ฯลฯ'],
  ['Devanagari', 'रात का बाज़ार, क्षत्रिय श्रीमान् १२३।'],
]

/** The picture of a text. */
function pixelsOf(text: string): string {
  const context = createCanvas(120, 120).getContext('2d')
  drawText(context, text, 10, 90, { weight: 400, size: 80, color: '#000' })
  return Buffer.from(context.getImageData(0, 0, 120, 120).data.buffer).toString('base64')
}

describe('every character is drawn by a font that has it', () => {
  test.each(samples)('%s', (_script, text) => {
    const settable = toSettableText('title', text)
    for (const letters of ['sans', 'serif'] as const) {
      const runs = splitRuns(settable, languageOf(settable), letters)
      expect(runs.map((run) => run.text).join('')).toBe(settable)
      for (const { text: part, face } of runs)
        for (const character of part)
          expect([character, face.has(character.codePointAt(0) as number)]).toEqual([character, true])
    }
  })

  test.each(samples)('%s: typefaces with and without serifs are not mixed', (_script, text) => {
    const words = toSettableText('title', text).match(/[\p{L}\p{M}]+/gu) ?? []
    const typefaces = words.flatMap((word) =>
      splitRuns(word, languageOf(text), 'serif').map(({ face }) => face.typeface),
    )
    expect(typefaces.filter((typeface) => typeface === 'inter' || typeface.startsWith('sans'))).toEqual([])
  })

  test('no two characters of a script look alike, as the boxes of missing ones would', () => {
    for (const [, text] of samples) {
      const letters = [...new Set(text.normalize('NFC').replace(/\s/gu, ''))].slice(0, 24)
      expect(new Set(letters.map(pixelsOf)).size).toBe(letters.length)
    }
  })
})

test.each(['🎉', '👩‍🚀', '👩🏽‍🚀', '👨‍❤️‍💋‍👨', '🇩🇪', '1️⃣', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '🏳️‍🌈', '❤️', '👍🏿'])(
  'the emoji %s is one picture in colour',
  (emoji) => {
    expect(measureText(emoji, { weight: 400 })).toBeLessThan(1.3)
    const context = createCanvas(120, 120).getContext('2d')
    drawText(context, toSettableText('title', emoji), 10, 90, { weight: 400, size: 80, color: '#000' })
    const { data } = context.getImageData(0, 0, 120, 120)
    const isColoured = Array.from({ length: data.length / 4 }, (_, i) => data.subarray(i * 4, i * 4 + 4)).some(
      ([r = 0, g = 0, b = 0, a = 0]) => a > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 20,
    )
    expect(isColoured).toBe(true)
  },
)

describe('what no font has is refused, each character by name', () => {
  test.each([
    ['ქართული', /“ქ” \(U\+10E5\)/],
    ['தமிழ்', /“மி” \(U\+0BAE U\+0BBF\)/],
    ['ភាសាខ្មែរ', /U\+1797/],
    ['ᠮᠣᠩᠭᠣᠯ', /U\+182E/],
    ['𓀀', /“𓀀” \(U\+13000\)/],
    ['\uE000', /U\+E000/],
  ])('%s', (text, message) => {
    expect(() => toSettableText('badge', `Hello ${text}`)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringMatching(new RegExp(`^badge .*${message.source}`)),
      }),
    )
  })
})

test('control and direction characters have no shape and are left out, but emoji keep their joiners', () => {
  expect(toSettableText('title', ' a\u202Eb\u0000c\u200Bd \n e ')).toBe('abcd e')
  expect(toSettableText('title', '👩‍🚀')).toBe('👩‍🚀')
})

test('joiners stay where they are spelling, marks of direction where there is something to direct', () => {
  expect(toSettableText('title', 'می‌خواهم')).toBe('می‌خواهم')
  expect(toSettableText('title', 'a\u200Cb')).toBe('ab')
  expect(toSettableText('title', '\u200Fabc!')).toBe('\u200Fabc!')
  expect(toSettableText('title', '\u200F \u00AD')).toBe('')
})

test.each([
  ['東京の夜', 'ja'],
  ['서울 市場', 'ko'],
  ['电影和音乐', 'zh-Hans'],
  ['電影與音樂', 'zh-Hant'],
  ['夜市', 'zh-Hans'],
])('%s is taken for %s', (text, language) => {
  expect(languageOf(text)).toBe(language)
  expect(languageOf(text, 'ja')).toBe('ja')
})

test('shared characters have the forms of their language', () => {
  const draw = (language: 'ja' | 'zh-Hans'): string => {
    const context = createCanvas(100, 100).getContext('2d')
    drawText(context, '直', 10, 80, { weight: 400, size: 80, color: '#000', language })
    return Buffer.from(context.getImageData(0, 0, 100, 100).data.buffer).toString('base64')
  }
  expect(draw('ja')).not.toBe(draw('zh-Hans'))
})

describe('lines', () => {
  const style = { weight: 700, letterSpacing: -0.03, display: true } as const
  const mayNotBegin = /^[。、，．：；？！」』）】〕〉》・ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ”’%!?;:,.)،؟ๆฯ]/u
  const mayNotEnd = /[「『（【〔〈《“‘([]$/u
  const texts = [
    ...samples.map(([, text]) => text),
    '「吾輩は猫である。」名前はまだ無い！どこで生れたかとんと見当がつかぬ。（夏目漱石）',
    '“我们”在夜市里：吃小吃、喝茶，（一起）看《星星》。',
    'Qui a dit : « Bonjour tout le monde ! » hier ?',
    'ラーメン、ギョーザ、チャーハン、キャッチャー、ファッション',
  ]

  test.each([300, 420, 640, 900])('in a room %d wide fit it, and begin and end with what may stand there', (width) => {
    for (const text of texts) {
      const settable = toSettableText('title', text)
      const room = { width, height: 600, lineHeight: 1.05, minSize: 20, maxSize: 120, maxLines: 9 }
      const fitted = fitText(settable, style, room)
      const shown = fitted.lines.map((line) => line.text).join('')
      expect(shown.replace(/[\s-]/gu, '')).toBe(settable.replace(/[\s-]/gu, ''))
      expect(heightOf(fitted)).toBeLessThanOrEqual(600.01)
      for (const [index, line] of fitted.lines.entries()) {
        expect(widthOf({ ...fitted, lines: [line] }, style)).toBeLessThanOrEqual(width + 0.01)
        if (index > 0) expect(line.text).not.toMatch(mayNotBegin)
        if (index < fitted.lines.length - 1) expect(line.text).not.toMatch(mayNotEnd)
      }
    }
  })

  test('of Korean end between words', () => {
    const text = '서울의 밤 시장에 오신 것을 환영합니다'
    const room = { width: 500, height: 600, lineHeight: 1.05, minSize: 20, maxSize: 120, maxLines: 9 }
    for (const line of fitText(text, style, room).lines) expect(` ${text} `).toContain(` ${line.text} `)
  })

  test('are even: no single short word is left for the last one', () => {
    const room = { width: 700, height: 300, lineHeight: 1.1, minSize: 40, maxSize: 40, maxLines: 9 }
    const { lines, size } = fitText('Forty kitchens under one roof, from dusk until the last train on a', style, room)
    const widths = lines.map((line) => measureText(line, style) * size)
    expect(Math.min(...widths) / Math.max(...widths)).toBeGreaterThan(0.6)
  })
})
