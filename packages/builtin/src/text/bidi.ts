// Which way text runs: the direction of a paragraph, and how the parts of its lines stand beside each other (UAX 9).

import createBidi from 'bidi-js'

/** Where a paragraph begins: at the left, or at the right. */
export type Direction = 'ltr' | 'rtl'

/** A part of a line whose characters all run one way. */
export interface Stretch {
  readonly text: string
  readonly direction: Direction
}

/** A line of text as it is read, and its parts as they stand from left to right. */
export interface Line {
  readonly text: string
  readonly stretches: readonly Stretch[]
}

/** A line within its paragraph: from where to where, and what is added to its end. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly added: string
}

const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}]/u
const mark = /^\s*([\u200E\u200F\u061C])/
const strong = /\p{L}/u
// What decides nothing on its own, and what counts as a letter from left to right, for characters of two units.
const [neutralPair, letterPair] = ['\uFFFC\uFFFC', 'aa']

let bidi: ReturnType<typeof createBidi> | null = null

/**
 * The direction of a paragraph: that of most of its words, so that a name in Latin letters at its beginning does not turn
 * an Arabic sentence round. A mark (U+200E, U+200F, U+061C) at the beginning decides.
 * @param otherwise of a text without letters
 */
export function directionOf(text: string, otherwise: Direction = 'ltr'): Direction {
  const marked = mark.exec(text)?.[1]
  if (marked) return marked === '\u200E' ? 'ltr' : 'rtl'
  const words = text.split(/\s+/).flatMap((word) => strong.exec(word)?.[0] ?? [])
  const fromRight = words.filter((letter) => rightToLeft.test(letter)).length
  if (fromRight * 2 === words.length)
    return words[0] === undefined ? otherwise : rightToLeft.test(words[0]) ? 'rtl' : 'ltr'
  return fromRight * 2 > words.length ? 'rtl' : 'ltr'
}

/** A text that is one line and a paragraph of its own. */
export function toLine(text: string, direction: Direction = directionOf(text)): Line {
  return cutLines(text, direction, [{ start: 0, end: text.length, added: '' }])[0] as Line
}

/** The lines of a paragraph, each with its parts in the order in which they are seen. */
export function cutLines(text: string, direction: Direction, spans: readonly Span[]): Line[] {
  // The usual case: nothing runs from right to left.
  if (direction === 'ltr' && !rightToLeft.test(text))
    return spans.map(({ start, end, added }) => {
      const line = text.slice(start, end) + added
      return { text: line, stretches: [{ text: line, direction }] }
    })
  bidi ??= createBidi()
  const { levels } = bidi.getEmbeddingLevels(standIn(text), direction)
  const base = direction === 'rtl' ? 1 : 0
  return spans.map(({ start, end, added }) => {
    const line = text.slice(start, end) + added
    return { text: line, stretches: order(line, [...levels.slice(start, end), ...Array.from(added, () => base)]) }
  })
}

/** The text with characters of the same kind in place of those that `bidi-js` would take apart. Pictures have no direction. */
function standIn(text: string): string {
  return text.replace(/[\u{10000}-\u{10FFFF}]/gu, (character) => (strong.test(character) ? letterPair : neutralPair))
}

/** Rule L2: from the highest level down to the lowest odd one, whatever is at that level or above is turned round. */
function order(line: string, levels: readonly number[]): Stretch[] {
  let parts: { text: string; level: number }[] = []
  for (let i = 0; i < line.length; i++) {
    const level = levels[i] as number
    const last = parts.at(-1)
    if (last?.level === level) last.text += line.charAt(i)
    else parts.push({ text: line.charAt(i), level })
  }
  for (let level = Math.max(0, ...levels); level > 0; level--) {
    const turned: typeof parts = []
    for (let i = 0; i < parts.length;) {
      let end = i
      while (end < parts.length && (parts[end] as { level: number }).level >= level) end++
      turned.push(...(end > i ? parts.slice(i, end).toReversed() : parts.slice(i, i + 1)))
      i = Math.max(end, i + 1)
    }
    parts = turned
  }
  return parts.map(({ text, level }) => ({ text, direction: level % 2 === 1 ? 'rtl' : 'ltr' }))
}
