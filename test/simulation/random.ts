// Chance from a seed: the same seed, the same chances.

/** A source of chance. */
export interface Chance {
  /** 0 … 1 */
  number(): number
  /** 0 … most − 1 */
  below(most: number): number
  pick<Item>(items: readonly Item[]): Item | undefined
  bytes(count: number): Uint8Array
}

/** Creates a source (mulberry32). */
export function createChance(seed: number): Chance {
  let state = seed >>> 0
  const number = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (most: number): number => Math.floor(number() * most)
  return {
    number,
    below,
    pick: (items) => items[below(items.length)],
    bytes: (count) => Uint8Array.from({ length: count }, () => below(256)),
  }
}
