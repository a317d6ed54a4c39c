// The typefaces of all text in pictures and films: Inter and Source Serif, Noto Sans for Chinese, Japanese and Korean,
// Noto Color Emoji. The Noto packages are cut into a hundred files each; a file is read when a character first needs it.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { GlobalFonts } from '@napi-rs/canvas'
import type { CjkLanguage } from './language.ts'
import { readCoverage, unpackWoff } from './font-file.ts'

const require = createRequire(import.meta.url)

/** The typefaces by name; those of Noto Sans also stand for the language whose forms of shared characters they have. */
export type FaceName = 'inter' | 'serif' | CjkLanguage | 'emoji'

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

const packages: Readonly<Record<FaceName, () => string>> = {
  inter: () => require.resolve('inter-ui/package.json'),
  serif: () => require.resolve('@fontsource-variable/source-serif-4/package.json'),
  'zh-Hans': () => require.resolve('@fontsource-variable/noto-sans-sc/package.json'),
  'zh-Hant': () => require.resolve('@fontsource-variable/noto-sans-tc/package.json'),
  ja: () => require.resolve('@fontsource-variable/noto-sans-jp/package.json'),
  ko: () => require.resolve('@fontsource-variable/noto-sans-kr/package.json'),
  emoji: () => require.resolve('@fontsource/noto-color-emoji/package.json'),
}

const known = new Map<FaceName, readonly Face[]>()

/** The font files of a typeface that may have a character, the most likely first. */
export function facesFor(typeface: FaceName, codePoint: number): readonly Face[] {
  let faces = known.get(typeface)
  if (!faces) {
    faces = open(typeface)
    known.set(typeface, faces)
  }
  return faces.filter((face) => face.mayHave(codePoint))
}

function open(typeface: FaceName): Face[] {
  if (typeface === 'inter') {
    const file = join(dirname(packages.inter()), 'variable/InterVariable.woff2')
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
    const folder = dirname(packages.emoji())
    const file = join(folder, 'files/noto-color-emoji-emoji-400-normal.woff')
    // It has every picture twice. A canvas draws COLR; the pictures as SVG would only take 20 MB.
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
function openSubsets(typeface: 'serif' | CjkLanguage): Face[] {
  const axes = typeface === 'serif' ? 'opsz' : 'wght'
  const folder = dirname(packages[typeface]())
  const ranges = JSON.parse(readFileSync(join(folder, 'unicode.json'), 'utf8')) as Record<string, string>
  const { id } = JSON.parse(readFileSync(join(folder, 'metadata.json'), 'utf8')) as { id: string }
  return Object.entries(ranges).map(([subset, list]) => {
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
