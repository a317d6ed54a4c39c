// Every word of every theme can be read: its colour stands out from what is behind it by 4.5 to 1, as WCAG 2 asks.

import { createCanvas } from '@napi-rs/canvas'
import { expect, test } from 'vitest'
import { contrast, css, parseHex } from '../src/color.ts'
import { compose, drawBackdrop, layOut, posterSizes } from '../src/poster/poster.ts'
import type { TextMark, Theme } from '../src/poster/sheet.ts'
import { themes } from '../src/poster/themes.ts'
import type { Line } from '../src/text/bidi.ts'
import { measureText } from '../src/text/draw.ts'
import { isLongRun } from './long-run.ts'

// A thin line or a star may cross a letter; a twentieth of what is behind a line of text is not looked at.
const allowed = 0.05

const inputs = [
  {
    title: 'The Night Market',
    subtitle: 'Forty kitchens under one roof, from dusk until the last train',
    badge: '12 June',
    footer: 'Old Harbour Hall · doors open at six',
  },
  {
    title:
      'A very long headline about everything that could possibly happen in the city this summer, with some more words',
    subtitle:
      'And a subtitle that is long as well, because people write such things when they are in a hurry and no one stops them.',
    badge: 'Special edition, autumn 2026',
    footer: 'Museum of Things, Long Street 144, 10243 Berlin — free entry every Sunday',
  },
  { title: '夏の夜市', subtitle: '四十の屋台が一つの屋根の下に', footer: '旧港ホール' },
]

// All sizes with the theme's own accent, two with accents that are darker and lighter than any theme's.
type Case = readonly [theme: string, accent: string | undefined, sizes: readonly string[]]

const cases = Object.keys(themes).flatMap((theme): readonly Case[] =>
  isLongRun
    ? [
        [theme, undefined, Object.keys(posterSizes)],
        [theme, '#101030', ['portrait', 'wide']],
        [theme, '#fff3a0', ['portrait', 'wide']],
      ]
    : [[theme, undefined, ['portrait']]],
)

test.each(cases)('%s with the accent %s in %j', (theme, accent, sizes) => {
  backdrops.clear()
  const poor = sizes.flatMap((size) =>
    inputs.flatMap((input) => findPoorLines({ ...input, theme, size, ...(accent ? { accent } : {}) }, theme, size)),
  )
  expect(poor).toEqual([])
})

function findPoorLines(input: Record<string, string>, theme: string, size: string): string[] {
  const sheet = layOut(input)
  const { backdrop, words } = compose(themes[theme] as Theme, sheet)
  const context = createCanvas(sheet.width, sheet.height).getContext('2d')
  const key = [theme, size, input['accent'], sheet.footer === ''].join(' ')
  const drawn = backdrops.get(key) ?? drawBackdrop(backdrop, sheet.width, sheet.height)
  backdrops.set(key, drawn)
  context.putImageData(drawn, 0, 0)
  for (const mark of words) {
    if (mark.kind !== 'plate' || !mark.fill) continue
    context.fillStyle = css(mark.fill)
    context.fillRect(mark.left, mark.top, mark.width, mark.height)
  }
  return words.flatMap((mark) =>
    mark.kind === 'text'
      ? mark.text.lines.flatMap((line, index) => {
          const found = contrastOf(context, mark, index)
          return found >= 4.5 ? [] : [`${size}: “${line.text}” ${found.toFixed(2)}`]
        })
      : [],
  )
}

/** How well a line stands out from what is behind it, but for the poorest twentieth. */
function contrastOf(
  context: ReturnType<ReturnType<typeof createCanvas>['getContext']>,
  mark: TextMark,
  index: number,
): number {
  const { text, look, x, top } = mark
  const width = measureText(text.lines[index] as Line, { ...look, language: text.language }) * text.size
  const left = x - { left: 0, center: width / 2, right: width }[look.align ?? 'left']
  const baseline = top + text.size * (text.ascent + index * text.lineHeight)
  const box = [left, baseline - text.size * 0.73, width, text.size * 0.73].map(Math.round) as [
    number,
    number,
    number,
    number,
  ]
  const { data } = context.getImageData(...box)
  const found: number[] = []
  for (let pixel = 0; pixel < data.length / 4; pixel += 37) {
    const hex = [0, 1, 2].map((channel) => (data[pixel * 4 + channel] as number).toString(16).padStart(2, '0')).join('')
    found.push(known(`#${hex}`, look.color))
  }
  return found.sort((a, b) => a - b)[Math.floor(found.length * allowed)] ?? 0
}

const cache = new Map<string, number>()
const backdrops = new Map<string, ReturnType<typeof drawBackdrop>>()

function known(hex: string, color: Parameters<typeof contrast>[0]): number {
  const key = `${hex} ${css(color)}`
  const value = cache.get(key) ?? contrast(parseHex(hex), color)
  cache.set(key, value)
  return value
}
