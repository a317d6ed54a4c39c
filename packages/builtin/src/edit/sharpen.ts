// The operation `sharpen`: an unsharp mask over lightness alone, so that edges become crisper and colours stay what they are.

import sharp from 'sharp'
import type { Pixels } from '../image-output.ts'

const channels = 4
// Differences up to this are texture and noise, and are raised less than edges.
const edge = 5
const onTexture = 1
const onEdges = 2
// Beyond these, halos would show: light ones more than dark ones.
const mostLighter = 25
const mostDarker = 51

/** By how much each difference to the surroundings is raised; the difference −255 comes first. */
const raises = Int16Array.from({ length: 511 }, (_, index) => {
  const difference = index - 255
  const size = Math.abs(difference)
  const raised = size <= edge ? size * onTexture : edge * onTexture + (size - edge) * onEdges
  return Math.round(difference > 0 ? Math.min(raised, mostLighter) : -Math.min(raised, mostDarker))
})

/** Sharpens what is about `sigma` pixels wide. */
export async function sharpen({ data, width, height }: Pixels, sigma: number): Promise<Pixels> {
  const light = new Uint8Array(width * height)
  for (let i = 0, at = 0; i < light.length; i++, at += channels)
    light[i] = (data[at]! * 54 + data[at + 1]! * 183 + data[at + 2]! * 19) >> 8
  const surroundings = await sharp(light, { raw: { width, height, channels: 1 } })
    .blur(sigma)
    .toColourspace('b-w')
    .raw({ depth: 'uchar' })
    .toBuffer()
  const sharpened = new Uint8ClampedArray(data)
  for (let i = 0, at = 0; i < light.length; i++, at += channels) {
    const raise = raises[light[i]! - surroundings[i]! + 255]!
    sharpened[at]! += raise
    sharpened[at + 1]! += raise
    sharpened[at + 2]! += raise
  }
  return { data: new Uint8Array(sharpened.buffer), width, height }
}
