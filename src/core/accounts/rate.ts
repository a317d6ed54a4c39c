// The rule of a token bucket that several processes share.

/** The fill rate and the capacity of a bucket. */
export interface BucketSize {
  readonly perSecond: number
  readonly burst: number
}

// Sums of fractions may lack a little to a whole number.
const rounding = 1e-6

/**
 * Takes whole tokens, as many as there are.
 * @param fullAtMs when the bucket would be full again if nobody took anything: all that is kept of it
 */
export function takeFromBucket(
  { perSecond, burst }: BucketSize,
  fullAtMs: number,
  nowMs: number,
  most: number,
): { readonly taken: number; readonly fullAtMs: number } {
  const msPerToken = 1000 / perSecond
  // A clock that went back leaves an empty bucket at worst.
  const from = Math.min(Math.max(fullAtMs, nowMs), nowMs + burst * msPerToken)
  const taken = Math.max(0, Math.min(most, Math.floor(burst - (from - nowMs) / msPerToken + rounding)))
  return { taken, fullAtMs: from + taken * msPerToken }
}

/** The part of the store that keeps the buckets. */
export interface RateStore {
  /**
   * Takes whole tokens from the bucket of this name, which all processes share; it is full when it is first named.
   * @returns how many it had, at most `most`
   */
  takeTokens(bucket: string, size: BucketSize, most: number): Promise<number>
}
