// What a few words of a prompt say about style, mood and who plays the tune. Everything else in a prompt is only a seed.

import type { Random } from '../art/random.ts'
import type { InstrumentName } from './band/instruments.ts'
import { type StyleName, styleNames } from './styles.ts'

const moods = ['bright', 'dark', 'calm', 'lively'] as const

/** A mood: bright and dark choose between major and minor, calm and lively the pace. */
export type Mood = (typeof moods)[number]

// Words with commas between them, some of several parts; with a trailing * their beginnings. First what people call the
// style, which decides; then what makes them think of it, which decides only where no style is named.
const styleWords: Record<StyleName, readonly [names: string, associations: string]> = {
  ambient: [
    'ambient, drone*, new age, soundscape*, meditat*',
    'sleep*, space, ocean*, sea, float*, drift*, dream*, atmospher*, yoga, relax*, nature, forest*, night, star*, calm, fog, mist*, ethereal, spa',
  ],
  lofi: [
    'lofi, lo-fi, lo fi, chillhop, chill*, hip-hop, hiphop, hip hop, boom bap',
    'lo, study*, homework, beats, coffee, café, rain*, lazy, cozy, cosy, tape, afternoon, bedroom',
  ],
  house: [
    'house, techno*, edm, trance, dance music',
    'dance*, dancing, club*, party, electronic*, groove*, workout, dj, rave*, festival',
  ],
  cinematic: [
    'cinematic, orchestra*, film score, soundtrack*, epic',
    'film*, movie*, trailer*, heroic, battle*, adventure*, dramatic, hero*, victory, triumph*, war, dragon*, king*, mountain*, suspense',
  ],
  chiptune: [
    'chiptune*, chip tune*, 8-bit, 8bit, 16-bit, chip',
    'game*, gaming, arcade, pixel*, nintendo, console, level, boss',
  ],
  waltz: ['waltz*', 'ballroom, carousel*, vienn*, paris*, musette, accordion*, fairground, circus, three four, 3/4'],
  jazz: ['jazz*, swing*, bebop, blues, bluesy', 'lounge, saxophone, cocktail*, bar, smoky, noir, detective, big band'],
  synthwave: [
    'synthwave*, retrowave, outrun, vaporwave, synthpop',
    'synth*, neon, eighties, 80s, cyber*, drive, driving, laser*, electric, highway, retro, robot*, future*',
  ],
  bossa: [
    'bossa*, samba*, latin',
    'brazil*, rio, beach*, ipanema, copacabana, tropical, summer, holiday*, sunset*, terrace',
  ],
  funk: ['funk*, disco, soul, motown', 'groovy, slap, seventies, 70s, strut*, boogie, cool, street*, city'],
  dnb: [
    'drum and bass, drum & bass, drum n bass, drum’n’bass, drum-and-bass, dnb, d&b, jungle, breakbeat*, liquid',
    'chase*, speed*, race*, racing, rush*, extreme, sport*, skate*, adrenaline',
  ],
  folk: [
    'folk*, acoustic, country, celtic, irish, bluegrass, americana, indie',
    'guitar*, campfire*, village*, farm*, road, travel*, wander*, meadow*, cabin*, harvest*, pub, pirate*, home, family',
  ],
  chamber: [
    'chamber, classical, baroque, string quartet, quartet, sonata, minuet, mozart, bach, concerto',
    'violin*, cello, elegant, palace*, royal, museum*, wedding*, opera*, library, garden*, piano*',
  ],
  reggae: ['reggae*, dub, ska, dancehall, rocksteady', 'jamaica*, island*, rasta*, marley, palm*, hammock*, easy'],
}

const moodWords: Record<Mood, string> = {
  bright:
    'happy, bright, joy*, cheerful, sunny, sunshine, uplifting, hope*, hopeful, summer, spring, morning, love*, sweet, major, warm, victory, triumph*, playful, wedding*',
  dark: 'sad, dark*, melanchol*, gloom*, night*, winter, moody, mystery, mysterious, tragic, lonely, storm*, minor, tense, haunted, rain*, cold, tragedy, noir, grief, war',
  calm: 'calm, slow, slowly, quiet, gentle, peaceful, soft, sleep*, relax*, lazy, still, tender',
  lively:
    'fast, lively, energetic, quick, upbeat, driving, workout, party, excited, exciting, intense, battle*, rush*, running, chase*',
}

// Who plays the tune, and the pitch around which it lies.
const leads: readonly (readonly [InstrumentName, number, string])[] = [
  ['piano', 74, 'piano*'],
  ['nylonGuitar', 71, 'nylon guitar, spanish guitar, guitar*, ukulele'],
  ['flute', 76, 'flute*'],
  ['violin', 76, 'violin*, fiddle*'],
  ['cello', 60, 'cello*'],
  ['clarinet', 70, 'clarinet*'],
  ['brass', 67, 'trumpet*, trombone*, brass, horn*'],
  ['organ', 72, 'organ'],
  ['accordion', 75, 'accordion*'],
  ['vibraphone', 74, 'vibraphone*, vibes'],
  ['marimba', 72, 'marimba*, xylophone*'],
  ['glockenspiel', 84, 'glockenspiel*, music box, bell*'],
  ['kalimba', 77, 'kalimba*'],
  ['harp', 74, 'harp*'],
  ['mandolin', 74, 'mandolin*'],
  ['whistle', 79, 'whistl*, tin whistle'],
]

/** What to play. */
export interface Look {
  readonly style: StyleName
  readonly moods: ReadonlySet<Mood>
  /** Who plays the tune, and around which pitch; null for whom the style has for it. */
  readonly lead: { readonly instrument: InstrumentName; readonly center: number } | null
}

/** What the input asks for, with each `auto` decided: by the prompt's words, else by chance. */
export function chooseLook(prompt: string, style: string, mood: string, random: Random): Look {
  const text = ` ${
    prompt
      .toLowerCase()
      .match(/[\p{L}\p{N}’&/-]+/gu)
      ?.join(' ') ?? ''
  } `
  const chance = random.pick(styleNames)
  const asked = moods.find((name) => name === mood)
  const found = moods.filter((name) => firstMatch(moodWords[name], text) < Infinity)
  const lead = leads.find(([, , words]) => firstMatch(words, text) < Infinity)
  return {
    style: styleNames.find((name) => name === style) ?? earliest(text, 0) ?? earliest(text, 1) ?? chance,
    moods: new Set(asked ? [asked] : found),
    lead: lead ? { instrument: lead[0], center: lead[1] } : null,
  }
}

/** The style whose word comes first. */
function earliest(text: string, kind: 0 | 1): StyleName | undefined {
  const [best] = styleNames
    .map((name) => ({ name, at: firstMatch(styleWords[name][kind], text) }))
    .toSorted((a, b) => a.at - b.at)
  return best && best.at < Infinity ? best.name : undefined
}

/** Where the first of these words stands; Infinity for nowhere. */
function firstMatch(words: string, text: string): number {
  const places = words
    .split(', ')
    .map((word) => text.indexOf(word.endsWith('*') ? ` ${word.slice(0, -1)}` : ` ${word} `))
  return Math.min(Infinity, ...places.filter((place) => place >= 0))
}
