// Where a word may be divided when it is longer than a line: between likely syllables.

// Letters on both sides of a hyphen.
const [fewestBefore, fewestAfter] = [2, 3]
const word = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}]+/gu
const vowel = /[aeiouyæœøαεηιουωаеёиоуыэюяіїє]/
const consonants = /^[^aeiouyæœøαεηιουωаеёиоуыэюяіїє]+/
// Consonants that are one sound, or that begin a syllable together, in languages of Europe.
const together = /(?:sch|ch|sh|th|ph|gh|kh|zh|ck|sz|cz|rz|dz|lj|nj|qu|[bcdfgkptβγδθκπτφχбвгдкпфх][lrλρлр])$/

/** Of places within words those between syllables; in a word that has none, and outside of words, all of them. */
export function keepSyllables(text: string, places: readonly number[]): number[] {
  const words = Array.from(text.matchAll(word), (found) => {
    const end = found.index + found[0].length
    const inside = places.filter((at) => at > found.index && at < end)
    const good = inside.filter((at) => isBetweenSyllables(found[0], at - found.index))
    return { inside, kept: new Set(good.length > 0 ? good : inside) }
  })
  return places.filter((at) => words.every(({ inside, kept }) => !inside.includes(at) || kept.has(at)))
}

/** A syllable begins with the last consonant before a vowel, or with the consonants that go together there. */
function isBetweenSyllables(letters: string, at: number): boolean {
  if (at < fewestBefore || letters.length - at < fewestAfter) return false
  const bare = Array.from(letters, (letter) => letter.normalize('NFD').charAt(0).toLowerCase()).join('')
  if (!vowel.test(bare.slice(0, at))) return false
  const begins = consonants.exec(bare.slice(at))?.[0]
  if (!begins || !vowel.test(bare.charAt(at + begins.length))) return false
  return begins === (together.exec(bare.slice(0, at + begins.length))?.[0] ?? begins.at(-1))
}
