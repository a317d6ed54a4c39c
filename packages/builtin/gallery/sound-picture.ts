// A sound as a picture: its spectrum over time, from 40 Hz to 16 kHz, and its waveform below.

import sharp from 'sharp'

const [width, spectrumHeight, waveHeight] = [640, 150, 60]
const [lowest, highest, sampleRate] = [40, 16_000, 48_000]
const window = 4096
// Decibels from black to white.
const [floor, range] = [-75, 70]

/** Draws a WAV file of 16 bits at 48 kHz as a PNG. */
export async function drawSound(wav: Buffer): Promise<Buffer> {
  const samples = readLeft(wav)
  const pixels = Buffer.alloc(width * (spectrumHeight + waveHeight) * 3)
  const paint = (x: number, y: number, color: readonly number[]): void => {
    color.forEach((value, i) => (pixels[(y * width + x) * 3 + i] = Math.max(0, Math.min(255, value))))
  }
  for (let x = 0; x < width; x++) {
    const levels = spectrum(samples, Math.floor((x / width) * Math.max(0, samples.length - window)))
    for (let y = 0; y < spectrumHeight; y++) {
      const hertz = lowest * (highest / lowest) ** (1 - y / spectrumHeight)
      const level = levels[Math.round((hertz / sampleRate) * window)] ?? 0
      const heat = Math.max(0, Math.min(1, (20 * Math.log10(level + 1e-9) - floor) / range))
      paint(x, y, [460 * heat, 400 * heat - 130, heat < 0.4 ? 330 * heat : 235 - 255 * heat])
    }
    const part = samples.subarray(
      Math.floor((x / width) * samples.length),
      Math.floor(((x + 1) / width) * samples.length),
    )
    const [low, high] = part.reduce(
      ([least, most], sample) => [Math.min(least, sample), Math.max(most, sample)],
      [0, 0],
    )
    for (let y = 0; y < waveHeight; y++) {
      const height = 1 - (2 * y) / waveHeight
      paint(x, spectrumHeight + y, height <= high && height >= low ? [120, 200, 255] : [20, 20, 28])
    }
  }
  return sharp(pixels, { raw: { width, height: spectrumHeight + waveHeight, channels: 3 } })
    .png()
    .toBuffer()
}

function readLeft(wav: Buffer): Float32Array {
  const channels = wav.readUInt16LE(22)
  const data = wav.subarray(wav.indexOf('data') + 8)
  return Float32Array.from(
    { length: Math.floor(data.length / 2 / channels) },
    (_, i) => data.readInt16LE(2 * channels * i) / 32_768,
  )
}

/** Levels of the frequencies of a window, by the fast Fourier transform. */
function spectrum(samples: Float32Array, first: number): Float64Array {
  const real = Float64Array.from(
    { length: window },
    (_, i) => (samples[first + i] ?? 0) * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / window)),
  )
  const imaginary = new Float64Array(window)
  for (let i = 1, j = 0; i < window; i++) {
    let bit = window >> 1
    for (; j & bit; bit >>= 1) j ^= bit
    j ^= bit
    if (i < j) [real[i], real[j]] = [real[j] as number, real[i] as number]
  }
  for (let size = 2; size <= window; size *= 2) {
    for (let k = 0; k < size / 2; k++) {
      const [cos, sin] = [Math.cos((-2 * Math.PI * k) / size), Math.sin((-2 * Math.PI * k) / size)]
      for (let i = k; i < window; i += size) {
        const other = i + size / 2
        const [a, b] = [real[other] as number, imaginary[other] as number]
        const [x, y] = [a * cos - b * sin, a * sin + b * cos]
        real[other] = (real[i] as number) - x
        imaginary[other] = (imaginary[i] as number) - y
        real[i] = (real[i] as number) + x
        imaginary[i] = (imaginary[i] as number) + y
      }
    }
  }
  return real.map((value, i) => (4 * Math.hypot(value, imaginary[i] as number)) / window)
}
