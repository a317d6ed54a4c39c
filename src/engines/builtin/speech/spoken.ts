// From written text to words that Flite says well: dates, addresses, signs and abbreviations in full, ASCII only.

import { EngineError } from '../../../core/engine.ts'

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

const currencies: Record<string, string> = { $: 'dollars', '£': 'pounds', '€': 'euros', '¥': 'yen' }
const scales: Record<string, string> = {
  k: 'thousand',
  m: 'million',
  mn: 'million',
  bn: 'billion',
  b: 'billion',
  tn: 'trillion',
}
const months = 'January February March April May June July August September October November December'.split(' ')
// Said letter by letter, though they look like words.
const spelled = /\b(US|UK|EU|UN|AI|ID|IP|API|URL|UTC|UI|UX|OS|PR|HR|IT|VAT|ATM|ISO|AAC|USA|AM|PM)(?=s?\b)/g

const rules: readonly (readonly [RegExp, string | ((...match: string[]) => string)])[] = [
  // The marks of a list.
  [/^\s*[-*•,]\s+/g, ''],
  // Addresses of pages and of people.
  [/\bhttps?:\/\//gi, ''],
  [/(?<![\w@.])(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#][^\s,;!]*[\w/])/gi, (address = '') => sayAddress(address)],
  [/[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,}/gi, (address = '') => sayAddress(address)],
  // Ranges, and dashes that are pauses.
  [/(?<=\d)–(?=\d)/g, ' to '],
  [/–/g, ' - '],
  // Dates and years.
  [
    /\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\d)/g,
    (_, year = '', month = '', day = '') => `${months[Number(month) - 1] ?? ''} ${Number(day)}, ${sayYear(year)}`,
  ],
  [
    new RegExp(`\\b(${months.map((month) => month.slice(0, 3)).join('|')}|Sept)\\.? (?=\\d)`, 'g'),
    (_, short = '') => `${months.find((month) => month.startsWith(short.slice(0, 3))) ?? short} `,
  ],
  [
    /\b(in|since|until|till|from|to|year|of|by|before|after|around|circa|and|[A-Z][a-z]{2,8},?|\d{1,2}(?:st|nd|rd|th)?,) (1[1-9]\d\d|20\d\d)(?![\w,.]*\d|\s*(?:%|percent|people|items|times|words|years|miles|credits|dollars|euros|pounds|meters|metres|kilo))\b/g,
    (_, before = '', year = '') => `${before} ${sayYear(year)}`,
  ],
  // Money.
  [
    /([$£€¥])(\d+(?:,\d{3})*(?:\.\d+)?) ?(k|mn|m|bn|b|tn)\b/gi,
    (_, sign = '', amount = '', scale = '') =>
      `${amount} ${scales[scale.toLowerCase()] ?? ''} ${currencies[sign] ?? ''}`,
  ],
  [
    /([£€¥])(\d+(?:,\d{3})*)(?:\.(\d\d))?( (?:thousand|million|billion|trillion))?/g,
    (_, sign = '', whole = '', parts = '', scale = '') =>
      `${whole}${scale} ${currencies[sign] ?? ''}${parts ? ` ${Number(parts)}` : ''}`,
  ],
  [/(\d) ?€/g, (_, digit = '') => `${digit} euros`],
  [/\$(?! ?\d)|[£€¥]/g, (sign = '') => ` ${currencies[sign] ?? ''} `],
  // Units.
  [/(?<![A-Za-z])(?:km\/h|kph)\b/g, ' kilometers per hour'],
  [/(?<![A-Za-z])m\/s\b/g, ' meters per second'],
  [/(?<=\d) ?mph\b/g, ' miles per hour'],
  [/ degrees +C\b/g, ' degrees Celsius'],
  [/ degrees +F\b/g, ' degrees Fahrenheit'],
  [/(?<=\d) ?([GMKT])B\b/g, (_, size = '') => ` ${{ G: 'giga', M: 'mega', K: 'kilo', T: 'tera' }[size] ?? ''}bytes`],
  [/(?<=\d) ?([GMK]?)Hz\b/g, (_, size = '') => ` ${{ G: 'giga', M: 'mega', K: 'kilo' }[size] ?? ''}hertz`],
  [/(?<=\d) ?ms\b/g, ' milliseconds'],
  // Versions and names with a dot inside.
  [/\bv(?=\d+\.\d)/gi, 'version '],
  [/\d+(?:\.\d+){2,}/g, (version = '') => version.replaceAll('.', ' point ')],
  [/(?<=\w{2})\.(?=[a-z]{2})/gi, ' dot '],
  // Abbreviations.
  [/\be\. ?g\.,?/gi, 'for example'],
  [/\bi\. ?e\.,?/gi, 'that is'],
  [/\betc\./gi, 'et cetera'],
  [/\bvs?\.(?= )/gi, 'versus'],
  [/\bapprox\.(?= )/gi, 'approximately'],
  [/\bNo\. ?(?=\d)/g, 'number '],
  [/\bw\/o\b/gi, 'without'],
  [/\bw\/(?= )/gi, 'with'],
  [/\b([A-Z]{1,2})&([A-Z])\b/g, (_, before = '', after = '') => `${before.split('').join(' ')} and ${after}`],
  [spelled, (word = '') => word.split('').join(' ')],
  [/\bOK\b/g, 'okay'],
  [/\bWi-?Fi\b/gi, 'why fie'],
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
  let spoken = toAscii(text)
  for (const [pattern, replacement] of rules)
    spoken =
      typeof replacement === 'string' ? spoken.replace(pattern, replacement) : spoken.replace(pattern, replacement)
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
  return Array.from(text.replace(unheard, '').normalize('NFKC'), (character) => {
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

function sayYear(year: string): string {
  const [century, rest] = [year.slice(0, 2), year.slice(2)]
  if (year.startsWith('200')) return year
  if (rest === '00') return `${century} hundred`
  return rest.startsWith('0') ? `${century} oh ${rest.slice(1)}` : `${century} ${rest}`
}
