// From written text to words that Flite says well: dates, addresses, signs and abbreviations in full, ASCII only.

import { EngineError } from '@mediagen/engine/engine.ts'
import { dateRules } from './dates.ts'
import { measureRules } from './measures.ts'
import { lowerCaseNameRules, nameRules } from './names.ts'
import { applyRules, type Rule } from './rule.ts'

const mostShown = 8

// Letters that do not come apart into a base and a mark.
const letters: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'Ae',
  œ: 'oe',
  Œ: 'Oe',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ð: 'th',
  Ð: 'Th',
  þ: 'th',
  Þ: 'Th',
  ı: 'i',
}

const signs: Record<string, string> = {
  '‘': "'",
  '’': "'",
  '‛': "'",
  '′': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '«': '"',
  '»': '"',
  '‹': '"',
  '›': '"',
  '″': '"',
  '‐': '-',
  '‑': '-',
  '–': '–',
  '—': ' - ',
  '―': ' - ',
  '…': '... ',
  '•': ', ',
  '·': ', ',
  '¡': '',
  '¿': '',
  '−': '-',
  '⁄': '/',
  '×': ' times ',
  '÷': ' divided by ',
  '±': ' plus or minus ',
  '≈': ' about ',
  '≤': ' at most ',
  '≥': ' at least ',
  '≠': ' is not ',
  '→': ' to ',
  '°': ' degrees ',
  '§': ' section ',
  '©': ' copyright ',
  '®': '',
  µ: 'micro',
  π: 'pi',
  '£': '£',
  '€': '€',
  '¥': '¥',
  '¢': ' cents ',
}

// What may stand in a text and is not heard: soft hyphens, joiners, marks of direction and of order.
const unheard = /[\u00AD\u200B-\u200F\u2060\uFEFF\u202A-\u202E\u2066-\u2069]/g

// Between a number and a fraction of one character, which would else become 21/2.
const gluedFraction = /(?<=\d)(?=[¼½¾⅐-⅞])/g

const addressRules: readonly Rule[] = [
  // The marks of a list.
  [/^\s*[-*•,]\s+/g, ''],
  // Addresses of pages and of people.
  [/\bhttps?:\/\//gi, ''],
  [/(?<![\w@.])(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#][^\s,;!]*[\w/])/gi, (address = '') => sayAddress(address)],
  [/[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,}/gi, (address = '') => sayAddress(address)],
]

const versionRules: readonly Rule[] = [
  // Ranges, and dashes that are pauses.
  [/(?<=\d)–(?=\d)/g, ' to '],
  [/–/g, ' - '],
  // Versions and names with a dot inside.
  [/\bv(?=\d+\.\d)/gi, 'version '],
  [/\d+(?:\.\d+){2,}/g, (version = '') => version.replaceAll('.', ' point ')],
  [/(?<=\w{2})\.(?=[a-z]{2})/gi, ' dot '],
]

const closingRules: readonly Rule[] = [
  // Signs.
  [/\band\/or\b/gi, 'and or'],
  [/(?<=\d)\s*\*\s*(?=\d)/g, ' times '],
  [/(?<=[A-Za-z])\/(?=[A-Za-z])/g, ' or '],
  [/(?<!\d)\/|\/(?!\d)/g, ' slash '],
  [/#(?=\d)/g, 'number '],
  [/#(?=\w)/g, 'hash '],
  [/&/g, ' and '],
  [/\+/g, ' plus '],
  [/=/g, ' equals '],
  [/@/g, ' at '],
  [/\s<\s/g, ' less than '],
  [/\s>\s/g, ' greater than '],
  [/\s--?\s/g, ', '],
  [/[()[\]{}|"]+/g, ', '],
  [/[_~^`*<>#\\]+/g, ' '],
  // Commas that met one another or the edge.
  [/\s+/g, ' '],
  [/(?: ?,)+(?= ?[,.;:!?])/g, ''],
  [/^[\s,;:.]+/g, ''],
  [/ +([,.;:!?])/g, (_, mark = '') => mark],
]

/**
 * What to say for a text: ASCII letters, digits and the punctuation that shapes a sentence; empty when it has no word.
 * The text must have passed `requireSpeakable`.
 */
export function toSpoken(text: string): string {
  const ascii = toAscii(text)
  const isShouted = !/[a-z]/.test(ascii) && /[A-Z]\W+[A-Z]/.test(ascii)
  const spoken = applyRules(ascii, [
    ...addressRules,
    ...dateRules,
    ...measureRules,
    ...versionRules,
    ...nameRules,
    ...(isShouted ? [] : lowerCaseNameRules),
    ...closingRules,
  ])
  return /[A-Za-z0-9]/.test(spoken) ? spoken.trim() : ''
}

/**
 * Refuses what no voice can say, such as letters of another script or emoji.
 * @param field name of the field, for the words of the refusal
 * @throws EngineError `invalid_input` that names the characters
 */
export function requireSpeakable(field: string, text: string): void {
  const missing = [...new Set(Array.from(toAscii(text)).filter((character) => !/[\t\n\r -~£€¥–]/.test(character)))]
  if (missing.length > 0) {
    const shown = missing
      .slice(0, mostShown)
      .map(
        (character) =>
          `“${character}” (U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')})`,
      )
    const more = missing.length > mostShown ? ` and ${missing.length - mostShown} more` : ''
    throw new EngineError(
      'invalid_input',
      `${field} has characters that no voice can say: ${shown.join(', ')}${more}. The voices speak English.`,
    )
  }
  if (toSpoken(text) === '') throw new EngineError('invalid_input', `${field} has no word that could be spoken.`)
}

function toAscii(text: string): string {
  return Array.from(text.replace(unheard, '').replace(gluedFraction, ' ').normalize('NFKC'), (character) => {
    const known = letters[character] ?? signs[character]
    if (known !== undefined) return known
    const plain = character.normalize('NFD').replace(/\p{M}/gu, '')
    return /^[A-Za-z]$/.test(plain) ? plain : character
  }).join('')
}

function sayAddress(address: string): string {
  const names: Record<string, string> = {
    '.': 'dot',
    '/': 'slash',
    '@': 'at',
    '-': 'dash',
    _: 'underscore',
    '?': 'question mark',
    '=': 'equals',
    '&': 'and',
    '#': 'hash',
    '%': 'percent',
    '+': 'plus',
    ':': 'colon',
    '~': 'tilde',
  }
  return address
    .replace(/\/$/, '')
    .replace(/[^A-Za-z0-9]/g, (sign) => ` ${names[sign] ?? ''} `)
    .replace(/\bwww\b/gi, 'w w w')
}
