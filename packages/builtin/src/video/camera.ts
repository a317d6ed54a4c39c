// A camera over a picture: where it starts, where it ends, and what it sees in between.

import type { Canvas, SKRSContext2D } from '@napi-rs/canvas'
import type { Random } from '../art/random.ts'
import { clamp } from './easing.ts'

/** What a camera sees: the middle as fractions of the picture, and how much nearer than just covering the frame. */
export interface View {
  readonly x: number
  readonly y: number
  /** At least 1. */
  readonly zoom: number
}

/** A way from one view to another. */
export interface Move {
  readonly from: View
  readonly to: View
}

/** The ways that a camera can go. */
export const motions = ['zoom-in', 'zoom-out', 'pan-left', 'pan-right', 'pan-up', 'pan-down'] as const

export type Motion = (typeof motions)[number]

/** A picture and a frame. */
export interface Scene {
  /** Width over height. */
  readonly pictureRatio: number
  readonly frameRatio: number
  readonly focus: readonly [x: number, y: number]
  readonly seconds: number
}

/** How much a picture is enlarged by a zoom, and least by a pan. */
const [zoomPerSecond, mostZoom, panZoom] = [0.036, 1.34, 1.12]
/** How much of the frame a pan crosses in a second. */
const panPerSecond = 0.055

/** Chooses a way; long pictures are crossed along their longer side, others are mostly approached. */
export function chooseMotion({ pictureRatio, frameRatio }: Scene, random: Random): Motion {
  if (pictureRatio > frameRatio * 1.35) return random.pick(['pan-right', 'pan-left'] as const)
  if (pictureRatio < frameRatio / 1.35) return random.pick(['pan-up', 'pan-up', 'pan-down'] as const)
  return random.pick(['zoom-in', 'zoom-in', 'zoom-out', 'pan-right', 'pan-left'] as const)
}

/** Plans a way that never leaves the picture and keeps the focus in sight. */
export function planMove(motion: Motion, scene: Scene): Move {
  const { focus, seconds } = scene
  const zoom = Math.min(mostZoom, 1.06 + zoomPerSecond * seconds)
  const wide = keepInside({ x: focus[0], y: focus[1], zoom: 1.015 }, scene)
  const near = keepInside({ x: focus[0], y: focus[1], zoom }, scene)
  if (motion === 'zoom-in') return { from: wide, to: near }
  if (motion === 'zoom-out') return { from: near, to: wide }

  const across = motion === 'pan-left' || motion === 'pan-right'
  const share = visibleShare(panZoom, scene)[across ? 0 : 1]
  const reach = Math.min(1 - share, Math.max(0.06, panPerSecond * seconds) * share)
  const middle = clamp(focus[across ? 0 : 1], share / 2 + reach / 2, 1 - share / 2 - reach / 2)
  const at = (position: number): View =>
    keepInside(
      across ? { x: position, y: focus[1], zoom: panZoom } : { x: focus[0], y: position, zoom: panZoom },
      scene,
    )
  const [low, high] = [at(middle - reach / 2), at(middle + reach / 2)]
  return motion === 'pan-right' || motion === 'pan-down' ? { from: low, to: high } : { from: high, to: low }
}

/** The view at `t`, 0 … 1, of a way. Zooming looks even when each moment enlarges by the same factor. */
export function viewAt({ from, to }: Move, t: number): View {
  const zoom = from.zoom * (to.zoom / from.zoom) ** t
  // In step with the zoom, so that the point that is approached does not sway.
  const inverse = 1 / from.zoom - 1 / to.zoom
  const way = Math.abs(inverse) < 1e-6 ? t : (1 / from.zoom - 1 / zoom) / inverse
  return { x: from.x + (to.x - from.x) * way, y: from.y + (to.y - from.y) * way, zoom }
}

/** Draws what the camera sees, in fractions of a pixel. */
export function drawView(context: SKRSContext2D, picture: Canvas, view: View, width: number, height: number): void {
  const scale = Math.max(width / picture.width, height / picture.height) * view.zoom
  const [w, h] = [picture.width * scale, picture.height * scale]
  const left = clamp(width / 2 - view.x * w, width - w, 0)
  const top = clamp(height / 2 - view.y * h, height - h, 0)
  context.imageSmoothingEnabled = true
  // The others are bilinear: a slow pan would turn soft and sharp at every pixel.
  context.imageSmoothingQuality = 'high'
  context.drawImage(picture, left, top, w, h)
}

function keepInside(view: View, scene: Scene): View {
  const [w, h] = visibleShare(view.zoom, scene)
  return { ...view, x: clamp(view.x, w / 2, 1 - w / 2), y: clamp(view.y, h / 2, 1 - h / 2) }
}

/** How much of the picture's width and height is in sight. */
function visibleShare(zoom: number, { pictureRatio, frameRatio }: Scene): readonly [number, number] {
  return [Math.min(1, frameRatio / pictureRatio) / zoom, Math.min(1, pictureRatio / frameRatio) / zoom]
}
