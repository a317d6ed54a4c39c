// Inter, the typeface of all text in pictures: which of its subset files a text needs, and their bytes.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { EngineError } from '../../../core/engine.ts'

const require = createRequire(import.meta.url)
const subsets = ['latin', 'latin-ext', 'cyrillic', 'cyrillic-ext', 'greek', 'greek-ext', 'vietnamese'] as const

type Subset = (typeof subsets)[number]

/** Weights that the designs use. */
export type Weight = 300 | 400 | 500 | 600 | 700 | 800 | 900

/** A file of the typeface. Every subset is a family of its own: under one shared name only the first is looked at. */
export interface FontFile {
  readonly name: string
  readonly data: Buffer
  readonly weight: Weight
  readonly style: 'normal'
}

/** Font families in the order in which glyphs are looked for, as CSS wants them. */
export const interFamilies = subsets.map(familyOf).join(', ')

const ranges = readRanges()
const files = new Map<string, FontFile>()

/**
 * Makes a text fit to be set: composed characters, single spaces, no control characters.
 * @throws EngineError `invalid_input` naming the characters that the typeface lacks
 */
export function toSettableText(field: string, text: string): string {
  const settable = text
    .normalize('NFC')
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .trim()
  const missing = new Set([...settable].filter((character) => subsetOf(character) === null))
  if (missing.size > 0) refuseCharacters(field, [...missing])
  return settable
}

/** Upper case. Greek loses its accents there; the rules of its locale leave all other scripts alone. */
export function toCapitals(text: string): string {
  return text.toLocaleUpperCase('el')
}

/** @throws EngineError `invalid_input` naming characters that no font has */
export function refuseCharacters(field: string, characters: readonly string[]): never {
  const shown = characters
    .slice(0, 10)
    .map(
      (character) =>
        `“${character}” (U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')})`,
    )
  const more = characters.length > shown.length ? ` and ${characters.length - shown.length} more` : ''
  throw new EngineError(
    'invalid_input',
    `${field} has characters that the typeface lacks: ${shown.join(', ')}${more}. It has Latin, Greek, Cyrillic and Vietnamese.`,
  )
}

/** The font files that these texts need in these weights; read once and kept. */
export function loadInter(texts: readonly string[], weights: readonly Weight[]): FontFile[] {
  const needed = new Set<Subset>(['latin'])
  for (const character of texts.join('')) {
    const subset = subsetOf(character)
    if (subset) needed.add(subset)
  }
  return subsets
    .filter((subset) => needed.has(subset))
    .flatMap((subset) => weights.map((weight) => loadFile(subset, weight)))
}

function loadFile(subset: Subset, weight: Weight): FontFile {
  const path = `@fontsource/inter/files/inter-${subset}-${weight}-normal.woff`
  const known = files.get(path)
  if (known) return known
  const file: FontFile = { name: familyOf(subset), data: readFileSync(require.resolve(path)), weight, style: 'normal' }
  files.set(path, file)
  return file
}

function familyOf(subset: Subset): string {
  return `Inter-${subset}`
}

function subsetOf(character: string): Subset | null {
  const code = character.codePointAt(0) ?? 0
  return subsets.find((subset) => ranges[subset].some(([first, last]) => code >= first && code <= last)) ?? null
}

function readRanges(): Record<Subset, [number, number][]> {
  const unicode = JSON.parse(readFileSync(require.resolve('@fontsource/inter/unicode.json'), 'utf8')) as Record<
    Subset,
    string
  >
  return Object.fromEntries(subsets.map((subset) => [subset, parseRanges(unicode[subset])])) as Record<
    Subset,
    [number, number][]
  >
}

/** Reads `U+0000-00FF,U+0131,…`. */
function parseRanges(list: string): [number, number][] {
  return list.split(',').map((range) => {
    const [first = 0, last = first] = range
      .replace('U+', '')
      .split('-')
      .map((hex) => parseInt(hex, 16))
    return [first, last]
  })
}
