// Slots for questions to other servers. A server that answers late is asked one question at a time and uses no slot, so that it
// does not delay questions to other servers.

/** Questions under way at once to servers that answer promptly. */
const mostAtOnce = 16
/** A question that waits for longer gives its slot to others. */
const promptMs = 5000

/** The slots. */
export interface QuestionSlots {
  /** Those that are left. */
  free(): number
  /**
   * Begins a question to the server `whom`. Null if another question to it is open and its last answer was late.
   * @param onLate called when the answer is late: the slot is free again
   * @returns a function to call when the question is over; if the answer was prompt, `whom` uses slots again
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
