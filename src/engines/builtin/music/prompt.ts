// What a few words of a prompt say about style and mood. Everything else in a prompt is only a seed.

import type { Random } from '../art/random.ts'
import { type StyleName, styleNames } from './styles.ts'

const moods = ['bright', 'dark', 'calm', 'lively'] as const

/** A mood: bright and dark choose between major and minor, calm and lively the pace. */
export type Mood = (typeof moods)[number]

// Whole words, or with a trailing * their beginnings. The first style that matches wins.
const styleWords: readonly (readonly [StyleName, string])[] = [
  ['lofi', 'lofi lo-fi lo chill* study* hip-hop hiphop beats coffee café rain* lazy cozy'],
  ['chiptune', 'chiptune chip 8-bit 8bit game* arcade pixel* retro nintendo console'],
  ['synthwave', 'synthwave synth* neon retrowave outrun eighties 80s cyber* drive driving laser* electric'],
  ['house', 'house techno dance* disco club* party edm electronic* groove workout'],
  ['waltz', 'waltz* ballroom carousel* vienn* paris* musette accordion* fairground'],
  ['jazz', 'jazz* swing* bebop blues bluesy lounge saxophone cocktail bar'],
  [
    'cinematic',
    'cinematic epic film* movie* trailer* orchestra* heroic battle* adventure* dramatic hero* victory triumph*',
  ],
  [
    'ambient',
    'ambient meditat* sleep* drone space* ocean* sea float* drift* dream* atmospher* yoga relax* nature forest* night star* stars',
  ],
]

const moodWords: readonly (readonly [Mood, string])[] = [
  [
    'bright',
    'happy bright joy* cheerful sunny sunshine uplifting hope* hopeful summer spring morning love* sweet major warm victory triumph* playful',
  ],
  [
    'dark',
    'sad dark melanchol* gloom* night* winter moody mystery mysterious tragic lonely storm* minor tense haunted rain* cold tragedy',
  ],
  ['calm', 'calm slow quiet gentle peaceful soft sleep* relax* lazy still'],
  ['lively', 'fast lively energetic quick upbeat driving workout party excited exciting intense battle* rush* running'],
]

/** What to play. */
export interface Look {
  readonly style: StyleName
  readonly moods: ReadonlySet<Mood>
}

/** What the input asks for, with each `auto` decided: by the prompt's words, else by chance. */
export function chooseLook(prompt: string, style: string, mood: string, random: Random): Look {
  const words = prompt.toLowerCase().split(/[^\p{L}\p{N}-]+/u)
  const hinted = styleWords.find(([, list]) => matches(list, words))?.[0]
  const chance = random.pick(styleNames)
  const asked = moods.find((name) => name === mood)
  const found = moodWords.filter(([, list]) => matches(list, words)).map(([name]) => name)
  return {
    style: styleNames.find((name) => name === style) ?? hinted ?? chance,
    moods: new Set(asked ? [asked] : found),
  }
}

function matches(list: string, words: readonly string[]): boolean {
  return list
    .split(' ')
    .some((wanted) =>
      wanted.endsWith('*') ? words.some((word) => word.startsWith(wanted.slice(0, -1))) : words.includes(wanted),
    )
}
