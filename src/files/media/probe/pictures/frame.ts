// A frame of a video, converted from a decoder's planes to a picture for sharp.

import sharp, { type Sharp } from 'sharp'

/** A frame in planes: luma, then two chroma planes of half the width and height, rounded up. */
export interface Frame {
  readonly width: number
  readonly height: number
  /** I420, rows without padding. */
  readonly data: Uint8Array
}

// A frame darker than this is black, and one flatter than this shows nothing (of 255).
const darkest = 24
const flattest = 4

/** Whether a person would see only black. */
export function isBlack({ width, height, data }: Frame): boolean {
  const pixels = width * height
  // A few thousand samples are enough.
  const step = Math.max(1, Math.floor(pixels / 4096))
  let [count, sum, squares] = [0, 0, 0]
  for (let at = 0; at < pixels; at += step) {
    const value = data[at] ?? 0
    count += 1
    sum += value
    squares += value * value
  }
  const mean = sum / count
  return mean < darkest && Math.sqrt(Math.max(0, squares / count - mean * mean)) < flattest
}

/** Crops a frame to its upper left part: codecs pad frames to whole blocks. */
export function crop(frame: Frame, width: number, height: number): Frame {
  if (width === frame.width && height === frame.height) return frame
  const half = (length: number): number => Math.ceil(length / 2)
  const planes = [
    { across: frame.width, down: frame.height, keepAcross: width, keepDown: height },
    ...[1, 2].map(() => ({
      across: half(frame.width),
      down: half(frame.height),
      keepAcross: half(width),
      keepDown: half(height),
    })),
  ]
  const data = new Uint8Array(planes.reduce((sum, { keepAcross, keepDown }) => sum + keepAcross * keepDown, 0))
  let [from, to] = [0, 0]
  for (const { across, down, keepAcross, keepDown } of planes) {
    for (let row = 0; row < keepDown; row++) {
      const start = from + row * across
      data.set(frame.data.subarray(start, start + keepAcross), to)
      to += keepAcross
    }
    from += across * down
  }
  return { width, height, data }
}

/**
 * Turns a frame into a picture.
 * @param matrix name of the colour matrix; if the file has none, BT.709 from 720 lines on, else BT.601, as players assume
 */
export function toPicture({ width, height, data }: Frame, matrix: string | null): Sharp {
  const isLarge = matrix === null ? height >= 720 : matrix === 'bt709'
  const [kr, kb] = isLarge ? [0.2126, 0.0722] : [0.299, 0.114]
  const kg = 1 - kr - kb
  const chroma = Math.ceil(width / 2)
  const u = width * height
  const v = u + chroma * Math.ceil(height / 2)
  const rgb = new Uint8ClampedArray(width * height * 3)
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to += 3) {
      const at = (y >> 1) * chroma + (x >> 1)
      const bright = (255 / 219) * ((data[y * width + x] ?? 0) - 16)
      const blue = (255 / 112) * (1 - kb) * ((data[u + at] ?? 0) - 128)
      const red = (255 / 112) * (1 - kr) * ((data[v + at] ?? 0) - 128)
      rgb[to] = bright + red
      rgb[to + 1] = bright - (kb / kg) * blue - (kr / kg) * red
      rgb[to + 2] = bright + blue
    }
  }
  return sharp(rgb, { raw: { width, height, channels: 3 } })
}
