// Blurhashes (blurha.sh): a picture in about thirty characters, shown until the real one has loaded.

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~'
const side = 32

/** The picture of a blurhash as a URL for `background-image`; null if it is invalid. */
export function toBlurPicture(hash: string | null): string | null {
  const pixels = hash === null ? null : decodeBlurhash(hash, side, side)
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = side
  const context = canvas.getContext('2d')
  if (!pixels || !context) return null
  context.putImageData(new ImageData(pixels, side, side), 0, 0)
  return canvas.toDataURL()
}

/** RGBA of each pixel; null if it is not a blurhash. */
export function decodeBlurhash(hash: string, width: number, height: number): Uint8ClampedArray<ArrayBuffer> | null {
  const size = read(hash, 0, 1)
  const [across, down] = [(size % 9) + 1, Math.floor(size / 9) + 1]
  if (hash.length !== 4 + 2 * across * down || [...hash].some((digit) => !digits.includes(digit))) return null
  const largest = (read(hash, 1, 1) + 1) / 166
  const mean = read(hash, 2, 4)
  const colors = [[mean >> 16, (mean >> 8) & 255, mean & 255].map(toLinear)]
  for (let at = 6; at < hash.length; at += 2) {
    const value = read(hash, at, 2)
    const steps = [Math.floor(value / 361), Math.floor(value / 19) % 19, value % 19]
    colors.push(steps.map((step) => Math.sign(step - 9) * ((step - 9) / 9) ** 2 * largest))
  }
  const pixels = new Uint8ClampedArray(width * height * 4)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const sum = [0, 0, 0]
      for (const [index, color] of colors.entries()) {
        const wave =
          Math.cos((Math.PI * x * (index % across)) / width) *
          Math.cos((Math.PI * y * Math.floor(index / across)) / height)
        for (const channel of [0, 1, 2]) sum[channel] = (sum[channel] ?? 0) + (color[channel] ?? 0) * wave
      }
      pixels.set([...sum.map(toByte), 255], (y * width + x) * 4)
    }
  return pixels
}

function read(hash: string, at: number, length: number): number {
  return Array.from(hash.slice(at, at + length), (digit) => digits.indexOf(digit)).reduce(
    (sum, value) => sum * 83 + value,
    0,
  )
}

function toLinear(byte: number): number {
  const value = byte / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

function toByte(linear: number): number {
  const value = Math.min(Math.max(linear, 0), 1)
  return Math.round((value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055) * 255)
}
