// Where a line may end: by Unicode's rules, by words where a script does not space them, by force where nothing else helps.

import LineBreaker from 'linebreak'
import { keepSyllables } from './hyphens.ts'
import type { CjkLanguage } from './language.ts'

/**
 * How readily lines end. phrase: between words, but not where a reader would stumble; word: between words; character:
 * wherever the script allows it; soft: also at soft hyphens; force: within words, with a hyphen in alphabets.
 */
export type BreakLevel = 'phrase' | 'word' | 'character' | 'soft' | 'force'

/** A part of a text that stays whole. */
export interface Unit {
  readonly text: string
  /** What parts it from the next one on the same line: a space or nothing. */
  readonly space: string
  /** What it gets when the line ends after it: a hyphen within a word. */
  readonly hyphen: string
}

// No line begins with these, even after a space; Unicode's rules have most of them.
const clings =
  /^[\p{Pe}\p{Pf}!?:;%‰…‥。、，．：；？！・ー々ゝゞヽヾ゛゜〜～ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶㇰ-ㇿๆฯ،؛؟।॥]/u
// No line ends with these.
const opens = /[\p{Ps}\p{Pi}¿¡]$/u
const hiragana = /^\p{Script=Hiragana}/u
const endsHiragana = /\p{Script=Hiragana}$/u
const honorific = /[おご]$/
const thai = /^\p{Script=Thai}{2}$/u
// Words of these are never taken apart: Arabic letters are joined, and Thai keepSyllables are not to be seen in their letters.
const whole = /^(?:[\p{Script=Arabic}\p{M}\u200C\u200D]{2}|[\p{Script=Thai}]{2})$/u
const inWord = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}'’]$/u
const softHyphen = '\u00AD'
// What belongs to the word after it: a word of one letter, a small number, a sign for numbers.
const leans = /(?:^|\s)(?:[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]|\p{Nd}{1,2}\.?|[№§#]|n[or]\.)$/iu
// What is in brackets stays together when it is short.
const shortest = 8
const shortOpened = /[\p{Ps}\p{Pi}]([^\p{Ps}\p{Pi}\p{Pe}\p{Pf}]*)$/u
const shortClosed = /^([^\p{Ps}\p{Pi}\p{Pe}\p{Pf}]*)[\p{Pe}\p{Pf}]/u
// And to what is before it: a dash between spaces, what a number counts.
const follows = /^(?:[–—-]\s|\p{Sc}|%|°)/u

/** Cuts a text at all places where a line may end. */
export function splitUnits(text: string, level: BreakLevel, language: CjkLanguage): Unit[] {
  const positions = findBreaks(text, level, language)
  return [...positions, text.length].map((end, index) => {
    const part = text.slice(positions[index - 1] ?? 0, end)
    const shown = part.trimEnd()
    return { text: shown, space: part.slice(shown.length), hyphen: hyphenAt(text, end) }
  })
}

function hyphenAt(text: string, at: number): string {
  if (at === text.length) return ''
  if (text.charAt(at - 1) === softHyphen) return '-'
  return inWord.test(text.charAt(at - 1)) && inWord.test(text.charAt(at)) && isPlain(text, at) ? '-' : ''
}

/** Whether the word around a place consists of letters. An address must not get further hyphens. */
function isPlain(text: string, at: number): boolean {
  const [before, after] = [text.slice(0, at).split(/\s/).at(-1) ?? '', text.slice(at).split(/\s/)[0] ?? '']
  return !/[\p{Nd}@_/\\=&+~]|\p{L}\.\p{L}/u.test(before + after)
}

function findBreaks(text: string, level: BreakLevel, language: CjkLanguage): number[] {
  const words = boundaries(text, 'word', language)
  const graphemes = boundaries(text, 'grapheme', language)
  const allowed = allowedBreaks(text, words)
  const between = [...allowed].filter((at) => graphemes.has(at) && mayBreak(text, at))
  if (level === 'phrase') return between.filter((at) => words.has(at) && !isInPhrase(text, at, words))
  if (level === 'word') return between.filter((at) => words.has(at))
  const soft = (at: number): boolean => text.charAt(at - 1) === softHyphen
  if (level === 'character') return between.filter((at) => !soft(at))
  if (level === 'soft') return between
  const insides = [...graphemes].filter(
    (at) => !allowed.has(at) && mayBreak(text, at) && !isWhole(text, at) && text.charAt(at) !== ' ',
  )
  return [...between, ...keepSyllables(text, insides)].sort((a, b) => a - b)
}

/** Where Unicode's rules let a line end, and between words of Thai, of which they say that a dictionary must know. */
function allowedBreaks(text: string, words: ReadonlySet<number>): Set<number> {
  const breaker = new LineBreaker(text)
  const found = new Set([...words].filter((at) => thai.test(text.slice(at - 1, at + 1))))
  for (let next = breaker.nextBreak(); next; next = breaker.nextBreak())
    if (next.position < text.length) found.add(next.position)
  return new Set([...found].sort((a, b) => a - b))
}

function isWhole(text: string, at: number): boolean {
  return whole.test(text.slice(at - 1, at + 1))
}

function boundaries(text: string, granularity: 'grapheme' | 'word', language: string): ReadonlySet<number> {
  const segments = new Intl.Segmenter(language, { granularity }).segment(text)
  return new Set(Array.from(segments, ({ index }) => index).filter((index) => index > 0))
}

function mayBreak(text: string, at: number): boolean {
  return !clings.test(text.slice(at).trimStart()) && !opens.test(text.slice(0, at).trimEnd())
}

/** Whether a line had better not end here. */
function isInPhrase(text: string, at: number, words: ReadonlySet<number>): boolean {
  const [before, after] = [text.slice(0, at), text.slice(at)]
  return (
    (shortOpened.test(before) && shortClosed.test(after) && isShort(before, after)) ||
    leans.test(before.trimEnd()) ||
    follows.test(after) ||
    thai.test(text.slice(at - 1, at + 1)) ||
    isInJapanesePhrase(before, after, words)
  )
}

/** Whether the brackets around a place have little between them. */
function isShort(before: string, after: string): boolean {
  return (shortOpened.exec(before)?.[1]?.length ?? 0) + (shortClosed.exec(after)?.[1]?.length ?? 0) <= shortest
}

/**
 * Japanese particles and endings, which are hiragana, belong to what is before them, unless they are long enough to be
 * words beside others; お and ご belong to what follows. A single Han character between words is most often the rest of one.
 */
function isInJapanesePhrase(before: string, after: string, words: ReadonlySet<number>): boolean {
  const at = before.length
  const isHonored = honorific.test(before) && (at === 1 || words.has(at - 1))
  const isSingle = /^\p{Script=Han}/u.test(after) && (words.has(at + 1) || after.length === 1)
  const isWord = endsHiragana.test(before) && !words.has(at + 1) && !words.has(at + 2) && after.length > 2
  const isEnding = hiragana.test(after) && !isWord && /[\p{L}ー」』）〉》]$/u.test(before)
  return isHonored || (isSingle && /[\p{L}ー]$/u.test(before)) || isEnding
}
