// How one picture gives way to the next.

import { createCanvas, type Canvas, type SKRSContext2D } from '@napi-rs/canvas'
import { between, clamp, easeInOut, easeOut } from './easing.ts'

/** The transitions that there are. */
export const transitionNames = ['crossfade', 'slide', 'wipe', 'zoom', 'iris', 'dip'] as const

export type TransitionName = (typeof transitionNames)[number]

/** Draws a picture that fills the frame. */
export type DrawLayer = (context: SKRSContext2D) => void

/** Draws the moment `t`, 0 … 1, between two pictures. */
export type Transition = (context: SKRSContext2D, from: DrawLayer, to: DrawLayer, t: number) => void

/** Creates the transitions for frames of a size. */
export function createTransitions(width: number, height: number): Record<TransitionName, Transition> {
  let layer: Canvas | null = null
  /** Draws a picture by itself, so that it can be laid over another as a whole. */
  const separately = (draw: DrawLayer): { canvas: Canvas; context: SKRSContext2D } => {
    layer ??= createCanvas(width, height)
    const context = layer.getContext('2d')
    context.save()
    draw(context)
    context.restore()
    return { canvas: layer, context }
  }
  const over = (context: SKRSContext2D, draw: DrawLayer, alpha: number): void => {
    const { canvas } = separately(draw)
    context.save()
    context.globalAlpha = clamp(alpha)
    context.drawImage(canvas, 0, 0)
    context.restore()
  }
  const zoomed = (context: SKRSContext2D, draw: DrawLayer, scale: number): void => {
    context.save()
    context.translate(width / 2, height / 2)
    context.scale(scale, scale)
    context.translate(-width / 2, -height / 2)
    draw(context)
    context.restore()
  }
  /** Keeps of the layer what a gradient covers. */
  const masked = (context: SKRSContext2D, draw: DrawLayer, gradient: ReturnType<typeof fade>): void => {
    const { canvas, context: own } = separately(draw)
    own.save()
    own.globalCompositeOperation = 'destination-in'
    own.fillStyle = gradient
    own.fillRect(0, 0, width, height)
    own.restore()
    context.drawImage(canvas, 0, 0)
  }
  const unit = Math.min(width, height)

  return {
    crossfade(context, from, to, t) {
      from(context)
      over(context, to, easeInOut(t))
    },
    slide(context, from, to, t) {
      const way = easeInOut(t)
      context.save()
      context.translate(-0.3 * width * way, 0)
      from(context)
      context.restore()
      context.fillStyle = `rgba(0,0,0,${(0.45 * way).toFixed(4)})`
      context.fillRect(0, 0, width, height)
      const left = width * (1 - way)
      const shade = context.createLinearGradient(left - unit * 0.06, 0, left, 0)
      shade.addColorStop(0, 'rgba(0,0,0,0)')
      shade.addColorStop(1, `rgba(0,0,0,${(0.4 * Math.sin(Math.PI * t)).toFixed(4)})`)
      context.fillStyle = shade
      context.fillRect(left - unit * 0.06, 0, unit * 0.06, height)
      const { canvas } = separately(to)
      context.drawImage(canvas, left, 0)
    },
    wipe(context, from, to, t) {
      from(context)
      // A soft edge that leans, from beyond the left to beyond the right.
      const [soft, lean] = [unit * 0.18, height * 0.25]
      const edge = -soft - lean + (width + 2 * (soft + lean)) * easeInOut(t)
      masked(context, to, fade(context, [edge - soft, height / 2 + lean / 2], [edge + soft, height / 2 - lean / 2]))
    },
    zoom(context, from, to, t) {
      zoomed(context, from, 1 + 1.4 * t * t)
      over(context, (own) => zoomed(own, to, 1 + 0.5 * (1 - easeOut(t))), easeInOut(between(t, 0.2, 0.85)))
    },
    iris(context, from, to, t) {
      from(context)
      const soft = unit * 0.07
      const radius = (Math.hypot(width, height) / 2 + 2 * soft) * easeInOut(t)
      const gradient = context.createRadialGradient(
        width / 2,
        height / 2,
        Math.max(0, radius - soft),
        width / 2,
        height / 2,
        Math.max(0.01, radius),
      )
      gradient.addColorStop(0, 'rgba(0,0,0,1)')
      gradient.addColorStop(1, 'rgba(0,0,0,0)')
      masked(context, to, gradient)
    },
    dip(context, from, to, t) {
      const dark = Math.sin(Math.PI * easeInOut(t)) ** 0.8
      const draw = t < 0.5 ? from : to
      draw(context)
      context.fillStyle = `rgba(8,8,10,${dark.toFixed(4)})`
      context.fillRect(0, 0, width, height)
    },
  }
}

function fade(
  context: SKRSContext2D,
  [x0, y0]: readonly [number, number],
  [x1, y1]: readonly [number, number],
): ReturnType<SKRSContext2D['createLinearGradient']> {
  const gradient = context.createLinearGradient(x0, y0, x1, y1)
  for (let step = 0; step <= 8; step++)
    gradient.addColorStop(step / 8, `rgba(0,0,0,${(1 - easeInOut(step / 8)).toFixed(4)})`)
  return gradient
}
