// The last touch: a vignette, and grain, which also hides the steps that 8 bits leave in a soft gradient.

/** Changes opaque RGBA pixels in place. `seed` decides the grain. */
export function finish(
  data: Uint8ClampedArray,
  width: number,
  height: number,
  seed: number,
  grain: number,
  vignette: number,
): void {
  const amplitude = 1.2 + 13 * grain
  const [centerX, centerY] = [width / 2, height / 2]
  const reach = centerX * centerX + centerY * centerY
  let state = seed | 1
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i += 4) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      // Two uniform numbers make a triangle: no value stands out.
      const noise = ((state & 0xffff) + ((state >>> 16) & 0xffff)) / 0xffff - 1
      const distance = ((x - centerX) * (x - centerX) + (y - centerY) * (y - centerY)) / reach
      const light = 1 - vignette * distance * distance
      const add = noise * amplitude
      data[i] = (data[i] as number) * light + add
      data[i + 1] = (data[i + 1] as number) * light + add
      data[i + 2] = (data[i + 2] as number) * light + add
    }
  }
}
