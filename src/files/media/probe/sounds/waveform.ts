// The preview of a sound: its waveform.

import sharp, { type Sharp } from 'sharp'

const width = 512
const height = 128
const gap = 2
const color = '#8b7bd8'

export const waveformParts = 128

/** Draws the loudest samples of the parts of a sound, 0 … 1, on a transparent ground. */
export function drawWaveform(peaks: Float32Array): Sharp {
  const step = width / peaks.length
  // Normalized, so a quiet sound is drawn as large as a loud one.
  const loudest = Math.max(...peaks, 0.01)
  const bars = Array.from(peaks, (peak, index) => {
    const tall = Math.max(2, (peak / loudest) * (height - 8))
    const box = `x="${index * step + gap / 2}" y="${(height - tall) / 2}" width="${step - gap}" height="${tall}"`
    return `<rect ${box} rx="${(step - gap) / 2}"/>`
  })
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" fill="${color}">${bars.join('')}</svg>`
  return sharp(Buffer.from(svg))
}
