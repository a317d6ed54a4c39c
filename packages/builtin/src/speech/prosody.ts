// The pitch and pace of a sentence by its place: readers begin a paragraph higher, end it lower and slower, and raise the voice in questions.

/** A sentence among others. */
export interface Placed {
  readonly text: string
  /** Which sentence of its paragraph it is, from 0, and of how many. */
  readonly index: number
  readonly count: number
}

/** Against the voice's own. */
export interface Prosody {
  /** Factors: 1 is the voice's own. */
  readonly pitch: number
  readonly spread: number
  readonly speed: number
  /** Whether the voice rises at the end. */
  readonly rises: boolean
}

// Yes-or-no questions begin with these words; other questions fall at the end, as statements do.
const asksYesOrNo =
  /^["“‘'(]*(?:and |but |so |well, )?(?:am|are|is|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must|isn|aren|wasn|weren|don|doesn|didn|haven|hasn|can|couldn|won|wouldn|shouldn)(?:['’]t)? /i
const asksWhat = /\b(?:who|whom|whose|what|which|when|where|why|how)\b/i
const offersChoice = /\bor\b/i

/** How to say a sentence. */
export function shapeSentence({ text, index, count }: Placed): Prosody {
  const isLast = index === count - 1
  const isFirst = index === 0
  // From the first to the last a few hundredths down, as paragraphs are read.
  const place = count > 1 ? 1 - index / (count - 1) : 0.5
  const isCalled = /!["”’')]*$/.test(text)
  return {
    pitch: (0.975 + 0.05 * place) * (isCalled ? 1.03 : 1),
    spread: isCalled ? 1.15 : isFirst && count > 1 ? 1.06 : 1,
    speed: isLast && count > 1 ? 0.97 : 1,
    rises: isQuestionThatRises(text),
  }
}

function isQuestionThatRises(text: string): boolean {
  if (!/\?["”’')]*$/.test(text) || offersChoice.test(text)) return false
  // Without a question word it is a doubted statement: "You are going home?"
  return asksYesOrNo.test(text) || !asksWhat.test(text)
}
