// How much room a line of text takes, measured before it is drawn.

/** What a line of text covers at size 1, from where it begins on its baseline. */
export interface TextBounds {
  /** How far the next text would begin. */
  readonly width: number
  /** Where ink begins and ends, from left to right, but for what hangs out of the letters at the edges. */
  readonly left: number
  readonly right: number
  /** Ink above and below the baseline. */
  readonly ascent: number
  readonly descent: number
}
