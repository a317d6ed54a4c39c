// The typefaces of all text in pictures and films: Inter and Source Serif, Noto for all other scripts, Noto Color Emoji.
// Most packages are cut into files, some into a hundred; a file is read when a character first needs it.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { GlobalFonts } from '@napi-rs/canvas'
import { readCoverage, unpackWoff } from './font-file.ts'
import type { CjkLanguage } from './language.ts'

const require = createRequire(import.meta.url)

/** Scripts with typefaces of their own. */
export type ScriptName = 'arabic' | 'hebrew' | 'thai' | 'devanagari'

/** The typefaces by name; those of CJK stand for the language whose forms of shared characters they have. */
export type FaceName =
  | 'inter'
  | 'source-serif'
  | 'noto-serif'
  | `${'sans' | 'serif'}-${CjkLanguage}`
  | `${'sans' | 'serif'}-${ScriptName}`
  | 'emoji'

/** One font file: a typeface, or the part of one that has some characters. */
export interface Face {
  readonly typeface: FaceName
  /** The name under which a canvas knows it, once `registerFace` was called. */
  readonly family: string
  /** Whether its package says that it has the character; `has` knows for sure, but reads the file for it. */
  mayHave(codePoint: number): boolean
  has(codePoint: number): boolean
  /** Makes a canvas know it. */
  register(): void
}

/** Where a typeface is installed, which of its variable axes its files have, and the part of it that is used. */
interface Package {
  readonly resolve: () => string
  readonly axes?: 'wght' | 'opsz'
  readonly only?: ScriptName
}

const packages: Readonly<Record<FaceName, Package>> = {
  inter: { resolve: () => require.resolve('inter-ui/package.json') },
  'source-serif': { resolve: () => require.resolve('@fontsource-variable/source-serif-4/package.json'), axes: 'opsz' },
  'noto-serif': { resolve: () => require.resolve('@fontsource-variable/noto-serif/package.json') },
  'sans-zh-Hans': { resolve: () => require.resolve('@fontsource-variable/noto-sans-sc/package.json') },
  'sans-zh-Hant': { resolve: () => require.resolve('@fontsource-variable/noto-sans-tc/package.json') },
  'sans-ja': { resolve: () => require.resolve('@fontsource-variable/noto-sans-jp/package.json') },
  'sans-ko': { resolve: () => require.resolve('@fontsource-variable/noto-sans-kr/package.json') },
  'serif-zh-Hans': { resolve: () => require.resolve('@fontsource-variable/noto-serif-sc/package.json') },
  'serif-zh-Hant': { resolve: () => require.resolve('@fontsource-variable/noto-serif-tc/package.json') },
  'serif-ja': { resolve: () => require.resolve('@fontsource-variable/noto-serif-jp/package.json') },
  'serif-ko': { resolve: () => require.resolve('@fontsource-variable/noto-serif-kr/package.json') },
  'sans-arabic': {
    resolve: () => require.resolve('@fontsource-variable/noto-sans-arabic/package.json'),
    only: 'arabic',
  },
  'serif-arabic': {
    resolve: () => require.resolve('@fontsource-variable/noto-naskh-arabic/package.json'),
    only: 'arabic',
  },
  'sans-hebrew': {
    resolve: () => require.resolve('@fontsource-variable/noto-sans-hebrew/package.json'),
    only: 'hebrew',
  },
  'serif-hebrew': {
    resolve: () => require.resolve('@fontsource-variable/noto-serif-hebrew/package.json'),
    only: 'hebrew',
  },
  'sans-thai': { resolve: () => require.resolve('@fontsource-variable/noto-sans-thai/package.json'), only: 'thai' },
  'serif-thai': { resolve: () => require.resolve('@fontsource-variable/noto-serif-thai/package.json'), only: 'thai' },
  'sans-devanagari': {
    resolve: () => require.resolve('@fontsource-variable/noto-sans-devanagari/package.json'),
    only: 'devanagari',
  },
  'serif-devanagari': {
    resolve: () => require.resolve('@fontsource-variable/noto-serif-devanagari/package.json'),
    only: 'devanagari',
  },
  emoji: { resolve: () => require.resolve('@fontsource/noto-color-emoji/package.json') },
}

const known = new Map<FaceName, { readonly faces: readonly Face[]; readonly found: Map<number, readonly Face[]> }>()

/** The font files of a typeface that may have a character, the most likely first. */
export function facesFor(typeface: FaceName, codePoint: number): readonly Face[] {
  const { faces, found } = known.get(typeface) ?? { faces: open(typeface), found: new Map<number, readonly Face[]>() }
  known.set(typeface, { faces, found })
  const chosen = found.get(codePoint) ?? faces.filter((face) => face.mayHave(codePoint))
  found.set(codePoint, chosen)
  return chosen
}

function open(typeface: FaceName): Face[] {
  if (typeface === 'inter') {
    const file = join(dirname(packages.inter.resolve()), 'variable/InterVariable.woff2')
    return [
      createFace(
        typeface,
        typeface,
        () => readFileSync(file),
        () => true,
      ),
    ]
  }
  if (typeface === 'emoji') {
    const folder = dirname(packages.emoji.resolve())
    const file = join(folder, 'files/noto-color-emoji-emoji-400-normal.woff')
    // The font has every picture twice. A canvas draws COLR; the SVG pictures would take 20 MB for nothing.
    return [
      createFace(
        typeface,
        typeface,
        () => unpackWoff(readFileSync(file), ['SVG ']),
        () => true,
      ),
    ]
  }
  return openSubsets(typeface)
}

/** The files of a package that is cut up, with the characters that it says are in them. */
function openSubsets(typeface: FaceName): Face[] {
  const { resolve, axes = 'wght', only } = packages[typeface]
  const folder = dirname(resolve())
  const ranges = JSON.parse(readFileSync(join(folder, 'unicode.json'), 'utf8')) as Record<string, string>
  const { id } = JSON.parse(readFileSync(join(folder, 'metadata.json'), 'utf8')) as { id: string }
  return Object.entries(ranges)
    .filter(([subset]) => only === undefined || subset === only)
    .map(([subset, list]) => {
      const name = subset.replace(/[[\]]/g, '')
      const file = join(folder, `files/${id}-${name}-${axes}-normal.woff2`)
      const parsed = parseRanges(list)
      const mayHave = (code: number): boolean => parsed.some(([first, last]) => code >= first && code <= last)
      return createFace(typeface, `${typeface}-${name}`, () => readFileSync(file), mayHave)
    })
}

function createFace(
  typeface: FaceName,
  name: string,
  load: () => Buffer,
  mayHave: (codePoint: number) => boolean,
): Face {
  const family = `mediagen-${name}`
  let data: Buffer | null = null
  let coverage: ReadonlySet<number> | null = null
  let isRegistered = false
  const read = (): Buffer => (data ??= load())
  return {
    typeface,
    family,
    mayHave,
    has: (codePoint) => (coverage ??= readCoverage(read())).has(codePoint),
    register: () => {
      if (isRegistered) return
      if (!GlobalFonts.register(read(), family)) throw new Error(`The font ${name} cannot be used`)
      isRegistered = true
      // The canvas has its own copy now.
      data = null
    },
  }
}

/** Reads `U+0000-00FF,U+0131,…`. */
function parseRanges(list: string): [number, number][] {
  return list.split(',').map((range) => {
    const [first = 0, last = first] = range
      .trim()
      .replace(/^U\+/i, '')
      .split('-')
      .map((hex) => parseInt(hex, 16))
    return [first, last]
  })
}
