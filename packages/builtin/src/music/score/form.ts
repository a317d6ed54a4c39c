// Forms: which sections a piece has, and how many bars each; they always add up.

/** What a section is for. */
export type SectionKind = 'intro' | 'verse' | 'chorus' | 'bridge' | 'break' | 'build' | 'outro' | 'ending'

/** A part of a piece. */
export interface Section {
  readonly kind: SectionKind
  readonly bars: number
  /** How often this kind was heard before. */
  readonly turn: number
  /** How much of the band plays: 0 nobody, 1 everybody. */
  readonly energy: number
  /** Semitones above the key of the piece. */
  readonly lift: number
}

/** Bars of a phrase. */
export const phraseBars = 4

const letters: Record<string, SectionKind> = {
  i: 'intro',
  a: 'verse',
  b: 'chorus',
  c: 'bridge',
  x: 'break',
  u: 'build',
  o: 'outro',
}

// By the number of phrases, introductions not counted: the first is for one. Songs have verse and chorus; standards a tune
// that comes back after its middle; dances build up, break down and build up again; flows grow and thin out.
const forms = {
  song: ['b', 'ab', 'abb', 'abab', 'abacb', 'ababcb', 'aabacbb', 'aababcbb', 'aabaabcbb', 'aabaabxcbb'],
  standard: ['a', 'aa', 'aba', 'aaba', 'abaca', 'aababa', 'aabacba', 'aabacaba', 'aabaacaba', 'aabaacaaba'],
  dance: ['b', 'ub', 'aub', 'aubb', 'aubxb', 'aubxub', 'aubbxub', 'aubbxubb', 'aubbxaubb', 'aaubbxaubb'],
  flow: ['a', 'ab', 'aab', 'aaba', 'aabxb', 'aabxab', 'aabaxab', 'aabaxabo', 'aabbaxabo', 'aabbacxabo'],
} as const satisfies Record<string, readonly string[]>

/** From so many phrases on there is room for one that only introduces. */
const phrasesForIntro = 5

/** A way to order sections. */
export type FormName = keyof typeof forms

/**
 * The sections of a piece, its ending not counted.
 * @param bars a multiple of nothing in particular, at least one; what phrases leave over introduces
 * @param lift semitones by which the last chorus, or the last tune, rises, where there was one before it
 */
export function planForm(bars: number, name: FormName, lift: number): Section[] {
  const form: readonly string[] = forms[name]
  const phrases = Math.floor(bars / phraseBars)
  if (phrases === 0) return toSections([form[0] as string], [bars], 0)
  const isIntroduced = bars % phraseBars < 2 && phrases >= phrasesForIntro
  const left = isIntroduced ? phrases - 1 : phrases
  // Long pieces have longer sections rather than more of them.
  const unit = 2 ** Math.max(0, Math.ceil(Math.log2(left / form.length)))
  const order = [...(form[Math.floor(left / unit) - 1] as string)]
  const lengths = order.map(() => unit * phraseBars)
  const intro = (bars % phraseBars) + (isIntroduced ? phraseBars : 0)
  const outro = (left % unit) * phraseBars
  if (intro > 0) {
    order.unshift('i')
    lengths.unshift(intro)
  }
  if (outro > 0 && order.at(-1) === 'o') lengths.push((lengths.pop() as number) + outro)
  else if (outro > 0) {
    order.push('o')
    lengths.push(outro)
  }
  return toSections(order, lengths, lift)
}

function toSections(order: readonly string[], lengths: readonly number[], lift: number): Section[] {
  const turns = new Map<string, number>()
  const main = order.includes('b') && order.lastIndexOf('b') > order.lastIndexOf('a') ? 'b' : 'a'
  const last = order.lastIndexOf(main)
  const risesAt = order.slice(0, last).some((letter) => letter === main) && order.length >= 6 ? last : Infinity
  return order.map((letter, i) => {
    const turn = turns.get(letter) ?? 0
    turns.set(letter, turn + 1)
    const kind = letters[letter] as SectionKind
    return {
      kind,
      bars: lengths[i] as number,
      turn,
      energy: energyOf(kind, turn, i === last),
      lift: i >= risesAt ? lift : 0,
    }
  })
}

function energyOf(kind: SectionKind, turn: number, isLast: boolean): number {
  switch (kind) {
    case 'intro':
      return 0.2
    case 'verse':
      return Math.min(0.75, 0.55 + 0.1 * turn) + (isLast ? 0.1 : 0)
    case 'chorus':
      return isLast ? 1 : Math.min(0.95, 0.85 + 0.05 * turn)
    case 'bridge':
      return 0.6
    case 'break':
      return 0.3
    case 'build':
      return 0.5
    case 'outro':
      return 0.4
    case 'ending':
      return 0.8
  }
}
