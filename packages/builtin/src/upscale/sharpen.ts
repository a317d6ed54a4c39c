// Sharpens edges of an enlarged picture without halos: nothing becomes lighter than the lightest, or darker than the
// darkest, of the pixels that were there, neither by sharpening nor by the ringing of the resampling.

import type { Pixels } from '../image-output.ts'

const channels = 4
const opaque = 255
const progressSteps = 10
// Smaller differences are noise, not edges.
const threshold = 2

/** What `sharpenWithin` works with. */
export interface Sharpening {
  /** Changed in place. */
  readonly larger: Pixels
  /** `larger`, blurred. */
  readonly blurred: Pixels
  /** What `larger` was made from. */
  readonly source: Pixels
  /** How much of the difference to `blurred` is added; 0 only takes halos away. */
  readonly amount: number
  readonly onProgress: (done: number) => void
}

/** Sharpens, and holds each value within those of the nine pixels of the source around it. */
export async function sharpenWithin(work: Sharpening): Promise<void> {
  const { larger, source } = work
  const columns = Int32Array.from({ length: larger.width }, (_, x) => nearest(x, larger.width, source.width) * channels)
  const low = new Uint8Array(source.width * channels)
  const high = new Uint8Array(source.width * channels)
  const step = Math.ceil(larger.height / progressSteps)
  let row = -1
  for (let y = 0; y < larger.height; y++) {
    const at = nearest(y, larger.height, source.height)
    if (at !== row) findBounds(source, at, low, high)
    row = at
    sharpenRow(work, y, columns, low, high)
    if ((y + 1) % step === 0) {
      work.onProgress((y + 1) / larger.height)
      await new Promise(setImmediate)
    }
  }
}

function nearest(position: number, length: number, sourceLength: number): number {
  return Math.min(sourceLength - 1, Math.floor(((position + 0.5) * sourceLength) / length))
}

/** The least and the greatest value of each channel around each pixel of a row. */
function findBounds({ data, width, height }: Pixels, row: number, low: Uint8Array, high: Uint8Array): void {
  const stride = width * channels
  const rows = [Math.max(0, row - 1), row, Math.min(height - 1, row + 1)].map((y) => y * stride)
  for (let i = 0; i < stride; i++) {
    let [least, most] = [opaque, 0]
    for (let j = Math.max(i % channels, i - channels); j <= Math.min(stride - 1, i + channels); j += channels) {
      for (const start of rows) {
        const value = data[start + j] as number
        if (value < least) least = value
        if (value > most) most = value
      }
    }
    low[i] = least
    high[i] = most
  }
}

function sharpenRow(
  { larger: { data, width }, blurred, amount }: Sharpening,
  y: number,
  columns: Int32Array,
  low: Uint8Array,
  high: Uint8Array,
): void {
  for (let x = 0, i = y * width * channels; x < width; x++, i += channels) {
    const from = columns[x] as number
    // Colours of what is not opaque are mixed by their alpha, and may rightly leave the range; alpha may not.
    const isOpaque = low[from + 3] === opaque
    for (let channel = isOpaque ? 0 : 3; channel < channels; channel++) {
      const value = data[i + channel] as number
      const difference = value - (blurred.data[i + channel] as number)
      const edge = Math.max(0, Math.abs(difference) - threshold) * Math.sign(difference)
      const sharpened = value + amount * edge
      data[i + channel] = Math.min(high[from + channel] as number, Math.max(low[from + channel] as number, sharpened))
    }
  }
}
