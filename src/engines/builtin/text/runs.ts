// Cuts a text into runs that one font file can draw, and refuses what none can.

import { EngineError } from '../../../core/engine.ts'
import { type Face, type FaceName, facesFor } from './faces.ts'
import type { CjkLanguage } from './language.ts'

/** A part of a text, and the font file that draws it. */
export interface Run {
  readonly text: string
  readonly face: Face
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
// What the eye expects in colour: emoji by default, with the selector U+FE0F, flags, keycaps.
const emoji = /^(?:\p{Emoji_Presentation}|\p{Emoji}\uFE0F|\p{Regional_Indicator}{2}|[#*\d]\uFE0F?\u20E3)/u
const invisible = /[\uFE00-\uFE0F\u200D]/u
// Western and Chinese alike: as wide as a character beside characters, narrow beside letters.
const sharedPunctuation = /^[“”‘’…—·]$/u
const ideographic = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303F\uFF00-\uFFEF]/u
// Nobody has agreed what these are; fonts keep their own pictures there.
const privateUse = /\p{Co}/u
const shownInRefusal = 10

/** A text as a reader counts its characters. */
export function splitGraphemes(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment)
}

/** Whether a grapheme is drawn in colour. */
export function isEmoji(grapheme: string): boolean {
  return emoji.test(grapheme) && !grapheme.endsWith('\uFE0E')
}

/** The runs of a text: `letters` draws alphabets, shared characters have the forms of `language`. Graphemes without a font are left out. */
export function splitRuns(text: string, language: CjkLanguage, letters: 'inter' | 'serif' = 'inter'): Run[] {
  const runs: { text: string; face: Face }[] = []
  const parts = splitGraphemes(text)
  for (const [index, part] of parts.entries()) {
    const isWide =
      sharedPunctuation.test(part) &&
      language !== 'ko' &&
      (ideographic.test(parts[index - 1] ?? '') || ideographic.test(parts[index + 1] ?? ''))
    const face = findFace(part, isWide ? [language, 'inter'] : order(part, language, letters))
    if (!face) continue
    const last = runs.at(-1)
    if (last?.face === face) last.text += part
    else runs.push({ text: part, face })
  }
  return runs
}

/**
 * Makes a text fit to be set: composed characters, single spaces, no control characters.
 * @param field what the text is, for the words of a refusal
 * @throws EngineError `invalid_input` naming the characters that no typeface has
 */
export function toSettableText(field: string, text: string): string {
  const spaced = text.normalize('NFC').replace(/[^\S\u00A0\u202F]+/gu, ' ')
  // Joiners and tags are a part of emoji; elsewhere they and their like have no shape.
  const settable = splitGraphemes(spaced)
    .map((part) => (isEmoji(part) ? part : part.replace(/[\p{Cc}\p{Cf}]/gu, '')))
    .join('')
    .replace(/ +/g, ' ')
    .trim()
  const missing = new Set(
    splitGraphemes(settable).filter(
      (part) => privateUse.test(part) || !findFace(part, order(part, 'zh-Hans', 'inter')),
    ),
  )
  if (missing.size > 0) refuse(field, [...missing])
  return settable
}

/** Upper case. Greek loses its accents there; the rules of its locale leave all other scripts alone. */
export function toCapitals(text: string): string {
  return text.toLocaleUpperCase('el')
}

function order(part: string, language: CjkLanguage, first: 'inter' | 'serif'): FaceName[] {
  const letters: FaceName[] = [first, 'inter', language, 'ja', 'ko', 'zh-Hant', 'zh-Hans']
  return isEmoji(part) ? ['emoji', ...letters] : [...letters, 'emoji']
}

function findFace(part: string, typefaces: readonly FaceName[]): Face | null {
  const codes = [...part].filter((character) => !invisible.test(character)).map((one) => one.codePointAt(0) as number)
  const [first] = codes
  if (first === undefined) return null
  for (const typeface of typefaces) {
    // An emoji made of several is one picture only in a file that has them all.
    const faces = facesFor(typeface, first).filter((face) => codes.every((code) => face.mayHave(code)))
    const face = faces.find((one) => codes.every((code) => one.has(code)))
    if (face) return face
  }
  return null
}

function refuse(field: string, parts: readonly string[]): never {
  const shown = parts.slice(0, shownInRefusal).map((part) => `“${part}” (${nameCodes(part)})`)
  const more = parts.length > shown.length ? ` and ${parts.length - shown.length} more` : ''
  throw new EngineError(
    'invalid_input',
    `${field} has characters that no typeface here has: ${shown.join(', ')}${more}. There are Latin, Greek, Cyrillic, Vietnamese, Chinese, Japanese, Korean and emoji.`,
  )
}

function nameCodes(part: string): string {
  return [...part].map((one) => `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`).join(' ')
}
