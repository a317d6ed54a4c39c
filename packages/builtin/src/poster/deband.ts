// Removes bands from soft gradients: with 8 bits, each step shows as a band where a colour changes slowly.

/** Pixels to each side whose mean is taken. */
const reach = 24
const channels = 4
/** Thresholds in an order that spreads them evenly, 0 … 63: a pattern that repeats costs a PNG next to nothing. */
const pattern = Uint8Array.from({ length: 64 }, (_, i) => {
  const [x, y] = [i & 7, i >> 3]
  const bit = (n: number): number => ((((x ^ y) >> n) & 1) << (5 - 2 * n)) | (((y >> n) & 1) << (4 - 2 * n))
  return bit(0) | bit(1) | bit(2)
})

/**
 * Changes opaque RGBA pixels in place: where the neighbourhood is as even as the pixel, it becomes the mean of that, dithered.
 * Nothing changes by more than one step of 255, so that every edge and every line stays as it is.
 */
export function deband(data: Uint8ClampedArray, width: number, height: number): void {
  const stride = width * channels
  for (let channel = 0; channel < 3; channel++) {
    const original = Uint8Array.from({ length: width * height }, (_, i) => data[i * channels + channel]!)
    const columns = new Int32Array(width)
    const addRow = (y: number, sign: 1 | -1): void => {
      for (let x = 0, i = y * width; x < width; x++, i++) columns[x]! += sign * original[i]!
    }
    for (let y = 0; y < Math.min(reach, height); y++) addRow(y, 1)
    for (let y = 0; y < height; y++) {
      if (y + reach < height) addRow(y + reach, 1)
      if (y - reach - 1 >= 0) addRow(y - reach - 1, -1)
      const rows = Math.min(height - 1, y + reach) - Math.max(0, y - reach) + 1
      let sum = 0
      for (let x = 0; x < Math.min(reach, width); x++) sum += columns[x]!
      for (let x = 0, i = y * stride + channel; x < width; x++, i += channels) {
        if (x + reach < width) sum += columns[x + reach]!
        if (x - reach - 1 >= 0) sum -= columns[x - reach - 1]!
        const mean = sum / (rows * (Math.min(width - 1, x + reach) - Math.max(0, x - reach) + 1))
        const value = original[y * width + x]!
        if (Math.abs(mean - value) >= 1) continue
        // Each channel has the pattern elsewhere, so that light and dark do not come together.
        const threshold = (pattern[((y + 5 * channel) & 7) * 8 + ((x + 3 * channel) & 7)]! + 0.5) / 64
        data[i] = Math.max(value - 1, Math.min(value + 1, Math.floor(mean + threshold)))
      }
    }
  }
}
