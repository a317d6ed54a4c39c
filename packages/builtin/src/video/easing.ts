// How movement begins and ends. Each function leads from 0 to 1 as its argument does; outside of that it stays.

/** A number kept between two others. */
export function clamp(value: number, low = 0, high = 1): number {
  return Math.min(high, Math.max(low, value))
}

/** Where `value` stands between two others, 0 … 1. */
export function between(value: number, from: number, to: number): number {
  return clamp((value - from) / (to - from))
}

/** Soft at both ends. */
export function easeInOut(t: number): number {
  const x = clamp(t)
  return x * x * x * (x * (x * 6 - 15) + 10)
}

/** Fast, then settling. */
export function easeOut(t: number): number {
  return 1 - (1 - clamp(t)) ** 4
}

/** Slow, then leaving. */
export function easeIn(t: number): number {
  return clamp(t) ** 3
}

/** Fast, a little too far, and back. */
export function easeOutBack(t: number): number {
  const [x, over] = [clamp(t) - 1, 1.4]
  return 1 + (over + 1) * x ** 3 + over * x ** 2
}

/** The even pace of a camera that takes `ramp` of the time to start and as much to stop. */
export function glide(t: number, ramp = 0.22): number {
  const x = clamp(t)
  const speed = 1 / (1 - ramp)
  // The integral of a speed that rises along a cosine, stays, and falls in the same way.
  const start = (y: number): number => (speed / 2) * (y - (ramp / Math.PI) * Math.sin((Math.PI * y) / ramp))
  if (x < ramp) return start(x)
  if (x > 1 - ramp) return 1 - start(1 - x)
  return (speed * ramp) / 2 + speed * (x - ramp)
}
