// Frames for encoders: RGBA turned into planar YUV 4:2:0 of limited range, in one pass of whole numbers.

/** How red, green and blue become luma and chroma; a film has to say which one it used. */
export type Matrix = 'bt709' | 'bt601'

/** Shares of red and blue in luma. */
const shares = { bt709: [0.2126, 0.0722], bt601: [0.299, 0.114] } as const satisfies Record<
  Matrix,
  readonly [number, number]
>
/** Steps of 8 bits that limited range uses. */
const [lumaRange, chromaRange, lumaFloor, chromaMiddle] = [219, 224, 16, 128]
const bits = 16

/** Bytes of a frame. */
export function yuvBytes(width: number, height: number): number {
  return (width * height * 3) / 2
}

/**
 * Creates a function that writes the planes Y, U and V of a frame to `out`; alpha is not looked at.
 * Chroma is the mean of four pixels. Width and height must be even.
 */
export function createYuvConverter(
  width: number,
  height: number,
  matrix: Matrix,
): (rgba: Uint8Array | Uint8ClampedArray, out: Uint8Array) => void {
  const [red, blue] = shares[matrix]
  const scale = 2 ** bits / 255
  const [yr, yb] = [Math.round(lumaRange * red * scale), Math.round(lumaRange * blue * scale)]
  // The three sum up to what white and grey need exactly: grey stays without chroma.
  const yg = Math.round(lumaRange * scale) - yr - yb
  const half = Math.round((chromaRange * scale) / 2)
  const ur = -Math.round((half * red) / (1 - blue))
  const vb = -Math.round((half * blue) / (1 - red))
  const [ug, vg] = [-half - ur, -half - vb]
  const lumaStart = (lumaFloor << bits) + (1 << (bits - 1))
  const chromaStart = (chromaMiddle << (bits + 2)) + (1 << (bits + 1))

  return (rgba, out) => {
    const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset, width * height)
    let [u, v] = [width * height, (width * height * 5) / 4]
    for (let y = 0; y < height; y += 2) {
      let upper = y * width
      for (const end = upper + width; upper < end; upper += 2) {
        const lower = upper + width
        // Red lies in the lowest byte: every machine that Node 24 runs on is little-endian.
        const [a, b, c, d] = [pixels[upper]!, pixels[upper + 1]!, pixels[lower]!, pixels[lower + 1]!]
        const [ar, ag, ab] = [a & 255, (a >> 8) & 255, (a >> 16) & 255]
        const [br, bg, bb] = [b & 255, (b >> 8) & 255, (b >> 16) & 255]
        const [cr, cg, cb] = [c & 255, (c >> 8) & 255, (c >> 16) & 255]
        const [dr, dg, db] = [d & 255, (d >> 8) & 255, (d >> 16) & 255]
        out[upper] = (yr * ar + yg * ag + yb * ab + lumaStart) >> bits
        out[upper + 1] = (yr * br + yg * bg + yb * bb + lumaStart) >> bits
        out[lower] = (yr * cr + yg * cg + yb * cb + lumaStart) >> bits
        out[lower + 1] = (yr * dr + yg * dg + yb * db + lumaStart) >> bits
        const [r, g, l] = [ar + br + cr + dr, ag + bg + cg + dg, ab + bb + cb + db]
        out[u++] = (ur * r + ug * g + half * l + chromaStart) >> (bits + 2)
        out[v++] = (half * r + vg * g + vb * l + chromaStart) >> (bits + 2)
      }
    }
  }
}
