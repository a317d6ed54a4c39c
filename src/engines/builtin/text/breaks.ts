// Where a line may end: by Unicode's rules, by words where a script does not space them, by force where nothing else helps.

import LineBreaker from 'linebreak'
import type { CjkLanguage } from './language.ts'

/**
 * How readily lines end. phrase: between words, and in Japanese not before what belongs to a word;
 * word: between words; character: wherever the script allows it; force: within words, with a hyphen in alphabets.
 */
export type BreakLevel = 'phrase' | 'word' | 'character' | 'force'

/** A part of a text that stays whole. */
export interface Unit {
  readonly text: string
  /** What parts it from the next one on the same line: a space or nothing. */
  readonly space: string
  /** What it gets when the line ends after it: a hyphen within a word. */
  readonly hyphen: string
}

// No line begins with these, wherever a space may stand before them; Unicode's rules have most of them.
const clings = /^[\p{Pe}\p{Pf}!?:;%…。、，．：；？！・ー々ゝゞヽヾ〜～ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ]/u
// And none ends with these.
const opens = /[\p{Ps}\p{Pi}¿¡]$/u
const hiragana = /^\p{Script=Hiragana}/u
const honorific = /[おご]$/
const wordBySpaces = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}'’]$/u

/** Cuts a text at all places where a line may end. */
export function splitUnits(text: string, level: BreakLevel, language: CjkLanguage): Unit[] {
  const positions = findBreaks(text, level, language)
  return [...positions, text.length].map((end, index) => {
    const part = text.slice(positions[index - 1] ?? 0, end)
    const whole = part.trimEnd()
    const inWord = end < text.length && wordBySpaces.test(part.at(-1) ?? '') && wordBySpaces.test(text.charAt(end))
    return { text: whole, space: part.slice(whole.length), hyphen: inWord ? '-' : '' }
  })
}

function findBreaks(text: string, level: BreakLevel, language: CjkLanguage): number[] {
  const graphemes = boundaries(text, 'grapheme', language)
  if (level === 'force') return [...graphemes].filter((at) => mayBreak(text, at))
  const words = boundaries(text, 'word', language)
  const breaker = new LineBreaker(text)
  const found: number[] = []
  for (let next = breaker.nextBreak(); next; next = breaker.nextBreak()) {
    const { position } = next
    if (position >= text.length || !graphemes.has(position) || !mayBreak(text, position)) continue
    if (level !== 'character' && !words.has(position)) continue
    if (level === 'phrase' && isInPhrase(text, position, words)) continue
    found.push(position)
  }
  return found
}

function boundaries(text: string, granularity: 'grapheme' | 'word', language: string): ReadonlySet<number> {
  const segments = new Intl.Segmenter(language, { granularity }).segment(text)
  return new Set(Array.from(segments, ({ index }) => index).filter((index) => index > 0))
}

function mayBreak(text: string, at: number): boolean {
  return !clings.test(text.slice(at).trimStart()) && !opens.test(text.slice(0, at).trimEnd())
}

/**
 * Japanese particles and endings, which are hiragana, belong to what is before them; お and ご to what follows. A single
 * Han character between words is most often the rest of one.
 */
function isInPhrase(text: string, at: number, words: ReadonlySet<number>): boolean {
  const before = text.slice(0, at)
  const isHonored = honorific.test(before) && (at === 1 || words.has(at - 1))
  const isSingle = /^\p{Script=Han}/u.test(text.slice(at)) && (words.has(at + 1) || at + 1 === text.length)
  return (
    isHonored ||
    (isSingle && /[\p{L}ー]$/u.test(before)) ||
    (hiragana.test(text.slice(at)) && /[\p{L}ー]$/u.test(before))
  )
}
