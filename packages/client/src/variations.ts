// Which inputs a set of variations has: one for each seed and each combination of picked values.
import type { JsonObject, Json } from './records.ts'

/** The label of a start that its jobs have in common. */
export const setLabel = 'variations'
export const mostVariations = 36
const largestSeed = 999_999

/** What is varied. */
export interface VariationChoice {
  /** How many seeds; 1 leaves the seed as it is. */
  readonly seeds: number
  /** Picked values, by the field; a field with one value only sets it. */
  readonly values: ReadonlyMap<string, readonly Json[]>
}

/**
 * The inputs of a set, in the order in which they are shown: by the first field, then the next, then the seed.
 * @param firstSeed the first of consecutive seeds, where the input has none
 */
export function planVariations(input: JsonObject, choice: VariationChoice, firstSeed: number): JsonObject[] {
  const combined = [...choice.values].reduce<JsonObject[]>(
    (inputs, [name, values]) =>
      values.length === 0 ? inputs : inputs.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [input],
  )
  if (choice.seeds <= 1) return combined
  const first = typeof input['seed'] === 'number' ? input['seed'] : firstSeed
  return combined.flatMap((one) =>
    Array.from({ length: choice.seeds }, (_, index) => ({ ...one, seed: first + index })),
  )
}

/** A seed to begin with. */
export function randomSeed(): number {
  return Math.floor(Math.random() * largestSeed)
}
