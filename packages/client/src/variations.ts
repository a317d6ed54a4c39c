// Variations: which inputs a set has, one for each seed and each combination of picked values, and how they are sent.
import type { Input, Json } from './records.ts'

/** The label of a start that its jobs have in common. */
export const setLabel = 'variations'
/** So many go together at most. */
export const mostVariations = 36
/** Seeds to begin with are below it. */
export const largestSeed = 999_999
// Requests at once; the others wait for these.
const atOnce = 4

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
export function planVariations(input: Input, choice: VariationChoice, firstSeed: number): Input[] {
  const combined = [...choice.values].reduce<Input[]>(
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

/** Maps with a few calls at once; the first failure ends it, after the calls that are under way. */
export async function mapSome<Item, Made>(
  items: readonly Item[],
  map: (item: Item, index: number) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = []
  const waiting = [...items.entries()]
  let failed = false
  async function work(): Promise<void> {
    for (let next = waiting.shift(); next && !failed; next = waiting.shift()) {
      const [index, item] = next
      try {
        made[index] = await map(item, index)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, work))
  const lost = ends.find((end) => end.status === 'rejected')
  if (lost) throw lost.reason
  return made
}
