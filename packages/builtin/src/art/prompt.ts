// What a few words of a prompt say about style and palette. Everything else in a prompt is only a seed.

import { type PaletteName, paletteNames } from './palette.ts'
import type { Random } from './random.ts'
import { type StyleName, styleNames } from './styles.ts'

interface Hint {
  /** Matches whole words of the prompt, or (with a trailing *) their beginning. */
  readonly words: string
  readonly styles: readonly StyleName[]
  readonly palettes: readonly PaletteName[]
}

// The first hint that has styles decides the style, so the more telling subjects stand first; the last one that has
// palettes decides the palette, so that words of colour and light, which stand last, win over subjects.
const hints: readonly Hint[] = [
  { words: 'aurora borealis northern polar', styles: ['aurora'], palettes: ['night'] },
  { words: 'stained glass mosaic cathedral church window* kaleidoscop*', styles: ['glass'], palettes: [] },
  { words: 'ink sumi wash zen calligraph* japan* chinese bamboo haiku', styles: ['ink'], palettes: ['ink'] },
  {
    words: 'galaxy galaxies nebula* cosmos cosmic universe space star stars starry astronaut supernova',
    styles: ['nebula'],
    palettes: ['night', 'neon'],
  },
  { words: 'planet* orbit* moon* solar eclipse saturn', styles: ['orbits', 'nebula'], palettes: ['night'] },
  {
    words: 'ocean sea wave waves surf beach coast* harbo* sail* ship water whale* fish* island* storm*',
    styles: ['waves'],
    palettes: ['ocean', 'nordic'],
  },
  {
    words: 'forest* wood woods tree trees jungle pine pines moss fern* deer fox',
    styles: ['forest'],
    palettes: ['forest', 'nordic'],
  },
  {
    words: 'city cities urban skyline tower* building* street* town downtown architectur* castle* skyscraper* robot*',
    styles: ['blocks'],
    palettes: ['sunset', 'orchard', 'neon'],
  },
  {
    words: 'mountain* hill hills valley alps alpine peak peaks canyon ridge* landscape* horizon lake',
    styles: ['ridges', 'ink'],
    palettes: [],
  },
  {
    words: 'geometr* bauhaus retro mid-century modernis* pattern* abstract fifties sixties',
    styles: ['midcentury', 'truchet', 'orbits'],
    palettes: ['orchard'],
  },
  { words: 'maze labyrinth knot* weave woven circuit* celtic', styles: ['truchet'], palettes: [] },
  {
    words: 'wind flow* hair silk dream* music river* fire flame* smoke dance dancing field* grass feather*',
    styles: ['flow'],
    palettes: [],
  },
  {
    words: 'flower* garden* blossom* spring tulip* rose roses butterfl*',
    styles: ['flow', 'glass', 'midcentury'],
    palettes: ['candy', 'orchard'],
  },
  { words: 'neon cyber* electric synth* vaporwave disco arcade', styles: [], palettes: ['neon'] },
  { words: 'night midnight dark moonlit twilight', styles: [], palettes: ['night'] },
  { words: 'sunset dusk evening sun fire flame* lava volcan* hot red', styles: [], palettes: ['sunset', 'autumn'] },
  { words: 'dawn sunrise morning soft pastel* dream* pink', styles: [], palettes: ['dawn', 'candy'] },
  { words: 'desert sand dune dunes sahara canyon mesa', styles: ['ridges'], palettes: ['desert'] },
  { words: 'autumn fall october harvest leaves golden gold orange', styles: [], palettes: ['autumn'] },
  { words: 'snow* winter ice icy frost* arctic fog* mist* rain* grey gray silver', styles: [], palettes: ['nordic'] },
  { words: 'candy sweet cute bubblegum', styles: [], palettes: ['candy'] },
  { words: 'fruit* orange* lemon* cherr* apple* orchard', styles: ['midcentury'], palettes: ['orchard'] },
  { words: 'green leaf nature emerald', styles: [], palettes: ['forest'] },
  { words: 'blue teal turquoise azure', styles: [], palettes: ['ocean'] },
  { words: 'black white monochrome minimal*', styles: [], palettes: ['ink'] },
]

// The palettes that suit each style, for prompts that name none.
const fittingPalettes: Record<StyleName, readonly PaletteName[]> = {
  ridges: ['sunset', 'dawn', 'desert', 'nordic', 'autumn', 'forest', 'ocean', 'night'],
  flow: ['sunset', 'ocean', 'orchard', 'nordic', 'autumn', 'candy', 'night', 'desert'],
  glass: ['sunset', 'ocean', 'orchard', 'autumn', 'candy', 'forest'],
  truchet: ['ocean', 'orchard', 'neon', 'sunset', 'desert', 'nordic'],
  orbits: ['nordic', 'orchard', 'night', 'desert', 'dawn', 'sunset'],
  aurora: ['night', 'ocean', 'forest', 'neon'],
  blocks: ['sunset', 'orchard', 'dawn', 'candy', 'ocean', 'neon'],
  ink: ['ink', 'nordic', 'forest', 'dawn'],
  nebula: ['night', 'neon', 'sunset', 'ocean'],
  midcentury: ['orchard', 'desert', 'autumn', 'nordic', 'candy'],
  waves: ['ocean', 'nordic', 'sunset', 'night', 'dawn'],
  forest: ['forest', 'nordic', 'dawn', 'autumn', 'night'],
}

/** What the input asks for, with each `auto` decided: by the prompt's words, else by chance. */
export function chooseLook(
  prompt: string,
  style: string,
  palette: string,
  random: Random,
): { style: StyleName; palette: PaletteName } {
  const words = prompt.toLowerCase().split(/[^\p{L}-]+/u)
  const matching = hints.filter((hint) => matches(hint.words, words))
  const hintedStyles = matching.find((hint) => hint.styles.length > 0)?.styles
  const chosenStyle = styleNames.find((name) => name === style) ?? random.pick(hintedStyles ?? styleNames)
  const hintedPalettes = matching.findLast((hint) => hint.palettes.length > 0)?.palettes
  return {
    style: chosenStyle,
    palette:
      paletteNames.find((name) => name === palette) ?? random.pick(hintedPalettes ?? fittingPalettes[chosenStyle]),
  }
}

function matches(list: string, words: readonly string[]): boolean {
  return list
    .split(' ')
    .some((wanted) =>
      wanted.endsWith('*') ? words.some((word) => word.startsWith(wanted.slice(0, -1))) : words.includes(wanted),
    )
}
