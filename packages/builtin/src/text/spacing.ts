// Closes gaps that fonts leave: between Chinese and Japanese punctuation marks, and between letters of two font files.

import type { TextBounds } from './bounds.ts'
import { splitGraphemes } from './runs.ts'

// Punctuation as wide as an ideograph, with one empty half.
const halfEmpty = /^[、。，．「」『』（）〈〉《》【】〔〕〖〗〘〙［］｛｝“”‘’]$/
// Punctuation of that width with room on both sides; it moves towards the others, but not towards its own kind.
const hollow = /^[：；！？・]$/
// Two of them together have as much room as they need where the empty halves meet.
const emptyEnough = 0.55
const wide = 0.9
// Letters that Unicode does not take apart into one with an accent.
const bare: Readonly<Record<string, string>> = { ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ø: 'o', Ø: 'O', ħ: 'h', ı: 'i' }
// A caron that stands beside its letter takes the room that kerning would close.
const caronBeside = /^[ďťľĽ]$/

/** Cuts a text where two such signs meet. */
export function splitTight(text: string): string[] {
  const pieces: string[] = []
  let last = ''
  for (const part of splitGraphemes(text)) {
    if (pieces.length > 0 && !mayMeet(last, part)) pieces[pieces.length - 1] += part
    else pieces.push(part)
    last = part
  }
  return pieces
}

function mayMeet(last: string, first: string): boolean {
  return halfEmpty.test(last) ? halfEmpty.test(first) || hollow.test(first) : hollow.test(last) && halfEmpty.test(first)
}

/** Whether the end of one piece and the beginning of the next leave half an em empty. */
export function isTight(
  before: string,
  after: string,
  inkBefore: (part: string) => TextBounds,
  inkAfter: (part: string) => TextBounds,
): boolean {
  const [last = '', first = ''] = [splitGraphemes(before).at(-1), splitGraphemes(after)[0]]
  if (!mayMeet(last, first)) return false
  const [end, begin] = [inkBefore(last), inkAfter(first)]
  return Math.min(end.width, begin.width) > wide && end.width - end.right + begin.left > emptyEnough
}

/** The letter at an edge of a text without its accents; null for what is no letter. @param edge its last or its first one */
export function baseLetter(text: string, edge: 'first' | 'last'): string | null {
  const parts = splitGraphemes(text)
  const letter = (edge === 'first' ? parts[0] : parts.at(-1)) ?? ''
  if (edge === 'last' && caronBeside.test(letter)) return null
  const base = bare[letter] ?? letter.normalize('NFD').replace(/\p{M}/gu, '')
  return /^[\p{L}\p{P}]$/u.test(base) ? base : null
}
