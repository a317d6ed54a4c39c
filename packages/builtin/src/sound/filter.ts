// Filters of second order, after Robert Bristow-Johnson's cookbook: https://www.w3.org/TR/audio-eq-cookbook/

/** Coefficients, normalised so that a0 is 1. */
export interface Biquad {
  readonly b0: number
  readonly b1: number
  readonly b2: number
  readonly a1: number
  readonly a2: number
}

const butterworth = Math.SQRT1_2

/** Keeps what is below `hertz`. */
export function lowPass(sampleRate: number, hertz: number, q = butterworth): Biquad {
  const { cos, alpha } = angle(sampleRate, hertz, q)
  return normalise((1 - cos) / 2, 1 - cos, (1 - cos) / 2, 1 + alpha, -2 * cos, 1 - alpha)
}

/** Keeps what is above `hertz`. */
export function highPass(sampleRate: number, hertz: number, q = butterworth): Biquad {
  const { cos, alpha } = angle(sampleRate, hertz, q)
  return normalise((1 + cos) / 2, -(1 + cos), (1 + cos) / 2, 1 + alpha, -2 * cos, 1 - alpha)
}

/** Keeps what is around `hertz`, as loud as it was. */
export function bandPass(sampleRate: number, hertz: number, q: number): Biquad {
  const { cos, alpha } = angle(sampleRate, hertz, q)
  return normalise(alpha, 0, -alpha, 1 + alpha, -2 * cos, 1 - alpha)
}

/** Raises (or, negative, lowers) what is around `hertz`. */
export function peaking(sampleRate: number, hertz: number, decibels: number, q: number): Biquad {
  const { cos, alpha } = angle(sampleRate, hertz, q)
  const a = 10 ** (decibels / 40)
  return normalise(1 + alpha * a, -2 * cos, 1 - alpha * a, 1 + alpha / a, -2 * cos, 1 - alpha / a)
}

/** Raises (or, negative, lowers) what is above `hertz`. */
export function highShelf(sampleRate: number, hertz: number, decibels: number, q = butterworth): Biquad {
  const { cos, alpha } = angle(sampleRate, hertz, q)
  const a = 10 ** (decibels / 40)
  const slope = 2 * Math.sqrt(a) * alpha
  return normalise(
    a * (a + 1 + (a - 1) * cos + slope),
    -2 * a * (a - 1 + (a + 1) * cos),
    a * (a + 1 + (a - 1) * cos - slope),
    a + 1 - (a - 1) * cos + slope,
    2 * (a - 1 - (a + 1) * cos),
    a + 1 - (a - 1) * cos - slope,
  )
}

/** Raises (or, negative, lowers) what is below `hertz`. */
export function lowShelf(sampleRate: number, hertz: number, decibels: number, q = butterworth): Biquad {
  const { cos, alpha } = angle(sampleRate, hertz, q)
  const a = 10 ** (decibels / 40)
  const slope = 2 * Math.sqrt(a) * alpha
  return normalise(
    a * (a + 1 - (a - 1) * cos + slope),
    2 * a * (a - 1 - (a + 1) * cos),
    a * (a + 1 - (a - 1) * cos - slope),
    a + 1 + (a - 1) * cos + slope,
    -2 * (a - 1 + (a + 1) * cos),
    a + 1 + (a - 1) * cos - slope,
  )
}

/** Runs samples through filters, one after another; what came in stays as it was. */
export function applyFilters(samples: Float32Array, filters: readonly Biquad[]): Float32Array {
  const filtered = Float32Array.from(samples)
  for (const filter of filters) {
    const { b0, b1, b2, a1, a2 } = filter
    let [state1, state2] = [0, 0]
    for (let i = 0; i < filtered.length; i++) {
      const input = filtered[i] as number
      const output = b0 * input + state1
      state1 = b1 * input - a1 * output + state2
      state2 = b2 * input - a2 * output
      filtered[i] = output
    }
  }
  return filtered
}

function angle(sampleRate: number, hertz: number, q: number): { cos: number; alpha: number } {
  const omega = (2 * Math.PI * hertz) / sampleRate
  return { cos: Math.cos(omega), alpha: Math.sin(omega) / (2 * q) }
}

function normalise(b0: number, b1: number, b2: number, a0: number, a1: number, a2: number): Biquad {
  return { b0: b0 / a0, b1: b1 / a0, b2: b2 / a0, a1: a1 / a0, a2: a2 / a0 }
}
