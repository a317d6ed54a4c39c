// A whole picture before something else, with a soft shade around it.

import type { Canvas, SKRSContext2D } from '@napi-rs/canvas'

/** How much of the frame it takes. */
const share = 0.96
/** When more than this share of a picture would be cut off, it is shown whole. */
const mostCut = 0.45

interface Size {
  readonly width: number
  readonly height: number
}

/** Whether a picture is shown whole: because `fit` says so, or leaves it open and covering the frame would cut off too much. */
export function isShownWhole(fit: unknown, picture: Size, frame: Size): boolean {
  const ratio = picture.width / picture.height / (frame.width / frame.height)
  return fit === 'whole' || (fit === 'auto' && 1 - Math.min(ratio, 1 / ratio) > mostCut)
}

/** The size of a picture that is shown whole. */
export function framedSize(picture: Size, width: number, height: number): readonly [number, number] {
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
