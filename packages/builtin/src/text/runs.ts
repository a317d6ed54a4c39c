// Cuts a text into runs of one script that one font file can draw, and refuses what none can.

import { EngineError } from '@mediagen/engine/engine.ts'
import { type Face, type FaceName, facesFor, type ScriptName } from './faces.ts'
import type { CjkLanguage } from './language.ts'

/** A part of a text, and the font file that draws it. It is of one script: the canvas measures the ink of no more. */
export interface Run {
  readonly text: string
  readonly face: Face
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
// Characters that are drawn in colour: emoji by default, with the selector U+FE0F, flags, keycaps.
const emoji = /^(?:\p{Emoji_Presentation}|\p{Emoji}\uFE0F|\p{Regional_Indicator}{2}|[#*\d]\uFE0F?\u20E3)/u
// Selectors, joiners, soft hyphens, and what tells a direction.
const invisible = /\u00AD|[\uFE00-\uFE0F\u200C-\u200F\u061C\u2066-\u2069]/u
const invisibleAlone = /^[\u00AD\u200C-\u200F\u061C\u2066-\u2069]+$/u
// Formatting characters without a meaning here, and forced directions, which nobody types by hand.
const dropped = /[\p{Cc}\p{Cf}]/gu
const kept = /[\u00AD\u200E\u200F\u061C\u2066-\u2069]/
// Letters of joining scripts: between them a joiner is part of the spelling.
const joining = /[\p{Script=Arabic}\p{Script=Devanagari}]/u
const joiner = /[\u200C\u200D]/
const scripts: readonly (readonly [ScriptName, RegExp])[] = [
  ['arabic', /^\p{Script_Extensions=Arabic}/u],
  ['hebrew', /^\p{Script_Extensions=Hebrew}/u],
  ['thai', /^\p{Script_Extensions=Thai}/u],
  ['devanagari', /^\p{Script_Extensions=Devanagari}/u],
]
// Scripts that one font file may have together; what belongs to none (digits, marks, spaces) goes with what is before it.
const together = [
  /\p{Script=Latin}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Han}/u,
  /\p{Script=Hiragana}/u,
  /\p{Script=Katakana}/u,
  /\p{Script=Hangul}/u,
]
// Western and Chinese alike: as wide as a character beside characters, narrow beside letters.
const sharedPunctuation = /^[“”‘’…—·]$/u
const ideographic = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303F\uFF00-\uFFEF]/u
const alphabetic = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u
// The private use area, where fonts keep their own pictures.
const privateUse = /\p{Co}/u
// Only Turkic alphabets have these letters; there i becomes İ.
const turkish = /[ığİĞ]/
const shownInRefusal = 10

/** A text as a reader counts its characters. */
export function splitGraphemes(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment)
}

/** Whether a grapheme is drawn in colour. */
export function isEmoji(grapheme: string): boolean {
  return emoji.test(grapheme) && !grapheme.endsWith('\uFE0E')
}

/** The runs of a text in the order in which it is read; shared characters have the forms of `language`. Graphemes without a font are left out. */
export function splitRuns(text: string, language: CjkLanguage, letters: 'sans' | 'serif' = 'sans'): Run[] {
  const runs: { text: string; face: Face }[] = []
  const parts = splitGraphemes(text)
  let alphabets = alphabetsOf([], letters)
  let script: RegExp | null = null
  for (const [index, part] of parts.entries()) {
    if (alphabetic.test(part) && !alphabetic.test(parts[index - 1] ?? ''))
      alphabets = alphabetsOf(wordFrom(parts, index), letters)
    const isWide =
      sharedPunctuation.test(part) &&
      language !== 'ko' &&
      (ideographic.test(parts[index - 1] ?? '') || ideographic.test(parts[index + 1] ?? ''))
    const face = findFace(
      part,
      isWide ? [`${letters}-${language}`, 'inter'] : order(part, language, letters, alphabets),
    )
    if (!face) continue
    const last = runs.at(-1)
    const own = together.find((one) => one.test(part)) ?? null
    if (last?.face === face && (own === null || script === null || own === script)) {
      last.text += part
      script ??= own
    } else {
      runs.push({ text: part, face })
      script = own
    }
  }
  return runs
}

function wordFrom(parts: readonly string[], start: number): readonly string[] {
  const end = parts.findIndex((part, index) => index > start && !alphabetic.test(part))
  return parts.slice(start, end < 0 ? undefined : end)
}

/** What draws the letters of a word: one typeface for all of them, if there is one. */
function alphabetsOf(word: readonly string[], letters: 'sans' | 'serif'): readonly FaceName[] {
  if (letters === 'sans') return ['inter']
  const typefaces = ['source-serif', 'noto-serif', 'inter'] as const
  const whole = typefaces.find((typeface) => word.every((part) => findFace(part, [typeface])))
  return [...(whole ? [whole] : []), ...typefaces]
}

/**
 * Normalizes a text: composed characters, single spaces, no control characters.
 * @param field what the text is, for the words of a refusal
 * @throws EngineError `invalid_input` naming the characters that no typeface has
 */
export function toSettableText(field: string, text: string): string {
  const spaced = text.normalize('NFC').replace(/[^\S\u00A0\u202F]+/gu, ' ')
  const parts = splitGraphemes(spaced)
  const settable = parts
    .map((part) => (isEmoji(part) ? part : part.replace(dropped, (sign) => (isKept(sign, part) ? sign : ''))))
    .join('')
    .replace(/ +/g, ' ')
    .trim()
  const shown = splitGraphemes(settable).filter((part) => !invisibleAlone.test(part) && part !== ' ')
  const missing = new Set(
    shown.filter((part) => privateUse.test(part) || !findFace(part, order(part, 'zh-Hans', 'sans', ['inter']))),
  )
  if (missing.size > 0) refuse(field, [...missing])
  return shown.length === 0 ? '' : settable
}

function isKept(sign: string, part: string): boolean {
  return kept.test(sign) || (joiner.test(sign) && joining.test(part))
}

/** Upper case. Greek loses its accents there, Turkish keeps its dots; the rules of both leave all other words alone. */
export function toCapitals(text: string): string {
  return text.toLocaleUpperCase(turkish.test(text) ? 'tr' : 'el')
}

function order(
  part: string,
  language: CjkLanguage,
  letters: 'sans' | 'serif',
  alphabets: readonly FaceName[],
): FaceName[] {
  const script = scripts.find(([, letter]) => letter.test(part))?.[0]
  const own: FaceName[] = script ? [`${letters}-${script}`, `sans-${script}`] : []
  const shared = [language, 'ja', 'ko', 'zh-Hant', 'zh-Hans'] as const
  const characters = (letters === 'serif' ? (['serif', 'sans'] as const) : (['sans'] as const)).flatMap((kind) =>
    shared.map((one): FaceName => `${kind}-${one}`),
  )
  const all = [...own, ...alphabets, ...characters]
  return isEmoji(part) ? ['emoji', ...all] : [...all, 'emoji']
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
    `${field} has characters that no typeface here has: ${shown.join(', ')}${more}. There are Latin (Vietnamese, too), Greek, Cyrillic, Arabic, Hebrew, Thai, Devanagari, Chinese, Japanese, Korean and emoji.`,
  )
}

function nameCodes(part: string): string {
  return [...part].map((one) => `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`).join(' ')
}
