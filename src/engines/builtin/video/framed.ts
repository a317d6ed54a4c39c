// A whole picture before something else, with a soft shade around it.

import type { Canvas, SKRSContext2D } from '@napi-rs/canvas'

/** How much of the frame it takes. */
const share = 0.96

/** The size of a picture that is shown whole. */
export function framedSize(
  picture: { readonly width: number; readonly height: number },
  width: number,
  height: number,
): readonly [number, number] {
  const fit = Math.min((width * share) / picture.width, (height * share) / picture.height)
  return [Math.max(2, Math.round(picture.width * fit)), Math.max(2, Math.round(picture.height * fit))]
}

/** Draws the picture in the middle. */
export function drawFramed(
  context: SKRSContext2D,
  picture: Canvas,
  width: number,
  height: number,
  scale: number,
): void {
  const [w, h] = [picture.width * scale, picture.height * scale]
  const [left, top, unit] = [(width - w) / 2, (height - h) / 2, Math.min(width, height)]
  context.save()
  context.shadowColor = 'rgba(0,0,0,0.45)'
  context.shadowBlur = unit * 0.04
  context.shadowOffsetY = unit * 0.008
  context.fillStyle = '#000'
  context.fillRect(left + 1, top + 1, w - 2, h - 2)
  context.restore()
  context.imageSmoothingQuality = 'high'
  context.drawImage(picture, left, top, w, h)
}
