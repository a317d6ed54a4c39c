// Divides a text into what is said in one breath.

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
const longestPiece = 240

// A full stop after these does not end a sentence.
const abbreviation =
  /(?:^|[\s("“])(?:Dr|Mr|Mrs|Ms|Prof|Rev|Gen|Sen|Rep|St|Jr|Sr|vs?|No|Nos|Fig|pp?|approx|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|e\.g|i\.e|cf|[A-Z]|(?:[A-Za-z]\.)+[A-Za-z])\.\s*$/

/** A part of a text, as it is written. */
export interface Piece {
  readonly text: string
  /** How long the voice rests after it, in seconds, at speed 1. */
  readonly restSeconds: number
  /** Which piece of its paragraph it is, from 0, and of how many. */
  readonly index: number
  readonly count: number
}

/** A piece before its place is known. */
type Unplaced = Pick<Piece, 'text' | 'restSeconds'>

const rests = { clause: 0.12, paragraph: 0.8 }
// After a long sentence a reader needs more breath.
const [shortestRest, longestRest, restOfLetter] = [0.3, 0.5, 0.002]

/** The sentences of a text, in order; very long ones in parts. */
export function splitSentences(text: string): Piece[] {
  const paragraphs = text.replace(/\r\n?/g, '\n').split(/\n[ \t]*\n+/)
  return paragraphs.flatMap((paragraph) => {
    const pieces = paragraph.split(/\n(?=\s*(?:[-*•]|\d+[.)]|\p{Lu}))/u).flatMap(splitLine)
    return withRest(pieces, rests.paragraph).map((piece, index) => ({ ...piece, index, count: pieces.length }))
  })
}

function splitLine(line: string): Unplaced[] {
  const sentences: string[] = []
  // A stop before a capital ends a sentence even where the space is missing.
  const flat = line.replace(/\s+/g, ' ').replace(/(?<=\p{Ll}{2}[.!?])(?=\p{Lu})/gu, ' ')
  for (const { segment } of segmenter.segment(flat)) {
    const last = sentences.at(-1)
    // Without a space after it, a mark belongs to an address or a number.
    if (last !== undefined && (!/\s$/.test(last) || abbreviation.test(last)))
      sentences[sentences.length - 1] = last + segment
    else sentences.push(segment)
  }
  return sentences
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
    .flatMap(splitLong)
}

function splitLong(sentence: string): Unplaced[] {
  const parts: string[] = []
  let rest = sentence
  while (rest.length > longestPiece) {
    const head = rest.slice(0, longestPiece)
    const clause = Math.max(
      ...[', ', '; ', ': ', ' – ', ' — ', ' - '].map((mark) => head.lastIndexOf(mark) + mark.length - 1),
    )
    const space = head.lastIndexOf(' ')
    const cut = clause > longestPiece / 3 ? clause : space > 0 ? space : longestPiece
    parts.push(rest.slice(0, cut).trim())
    rest = rest.slice(cut).trim()
  }
  return withRest(
    [...parts, rest].map((text) => ({ text, restSeconds: rests.clause })),
    Math.min(longestRest, shortestRest + restOfLetter * sentence.length),
  )
}

function withRest(pieces: readonly Unplaced[], restSeconds: number): Unplaced[] {
  return pieces.map((piece, i) => (i === pieces.length - 1 ? { ...piece, restSeconds } : piece))
}
