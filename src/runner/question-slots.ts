// Slots for questions to other servers. Whoever keeps a question waiting is asked one at a time, beside the slots, so servers
// that do not answer hold up nobody else.

/** Questions asked at once of those who answer promptly. */
const mostAtOnce = 16
/** A question that waits for longer gives its slot to others. */
const promptMs = 5000

/** The slots. */
export interface QuestionSlots {
  /** Those that are left. */
  free(): number
  /**
   * Begins a question, if there is a slot. Null while another waits for `whom`, who did not answer the last one promptly.
   * @param onLate called when no prompt answer has come, so that others may have the slot
   * @returns what is called when the question is over; if that is prompt, `whom` may be asked several at a time again
   */
  begin(whom: string, onLate: () => void): (() => void) | null
}

/** Creates the slots. */
export function createQuestionSlots(): QuestionSlots {
  // Open questions to each.
  const openQuestions = new Map<string, number>()
  // Those whose last question waited.
  const slow = new Set<string>()
  let taken = 0
  return {
    free: () => mostAtOnce - taken,
    begin(whom, onLate) {
      const before = openQuestions.get(whom) ?? 0
      let hasSlot = !slow.has(whom)
      if (!hasSlot && before > 0) return null
      openQuestions.set(whom, before + 1)
      if (hasSlot) taken += 1
      let isLate = false
      const leave = (): void => {
        if (hasSlot) taken -= 1
        hasSlot = false
      }
      const timer = setTimeout(() => {
        isLate = true
        slow.add(whom)
        leave()
        onLate()
      }, promptMs)
      return () => {
        clearTimeout(timer)
        leave()
        const left = (openQuestions.get(whom) ?? 1) - 1
        if (left === 0) openQuestions.delete(whom)
        else openQuestions.set(whom, left)
        if (!isLate) slow.delete(whom)
      }
    },
  }
}
