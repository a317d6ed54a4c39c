// A caption below a picture: light letters on a shade that rises from the edge.

import { createCanvas, type SKRSContext2D } from '@napi-rs/canvas'
import { drawLines, fitText, heightOf } from '../text/fit.ts'
import { toSettableText } from '../text/runs.ts'
import type { Shot } from '../video/shoot.ts'

/** Words that can be drawn over every frame. */
export interface Caption {
  /** Draws them, `presence` 0 … 1. */
  draw(context: SKRSContext2D, presence: number): void
}

const white = '#ffffff'

/**
 * Sets a caption; null when there are no words.
 * @throws EngineError `invalid_input` naming characters that no typeface has
 */
export function createCaption(text: string, field: string, { width, height }: Shot): Caption | null {
  const words = toSettableText(field, text)
  if (words === '') return null
  const unit = Math.min(width, height)
  const margin = unit * 0.07
  const style = { weight: 600 } as const
  const fitted = fitText(words, style, {
    width: width - 2 * margin,
    height: height * 0.3,
    lineHeight: 1.25,
    minSize: unit * 0.03,
    maxSize: unit * 0.06,
    maxLines: 3,
    steady: true,
  })
  const tall = heightOf(fitted)
  const top = height - margin - tall
  // Drawn once: letters cost far more than a picture of them.
  const layer = createCanvas(width, Math.ceil(tall + 2 * margin))
  const above = height - layer.height
  const look = { ...style, color: white, shadow: { color: 'rgba(0,0,0,0.35)', blur: unit * 0.012 } }
  const isFromRight = fitted.direction === 'rtl'
  drawLines(layer.getContext('2d'), fitted, isFromRight ? width - margin : margin, top - above, {
    ...look,
    align: isFromRight ? 'right' : 'left',
  })
  const shadeTop = Math.max(0, top - unit * 0.16)
  return {
    draw(context, presence) {
      context.save()
      const shade = context.createLinearGradient(0, shadeTop, 0, height)
      shade.addColorStop(0, 'rgba(0,0,0,0)')
      shade.addColorStop(0.45, `rgba(0,0,0,${(0.32 * presence).toFixed(4)})`)
      shade.addColorStop(1, `rgba(0,0,0,${(0.62 * presence).toFixed(4)})`)
      context.fillStyle = shade
      context.fillRect(0, shadeTop, width, height - shadeTop)
      context.globalAlpha = presence
      context.drawImage(layer, 0, above + unit * 0.018 * (1 - presence))
      context.restore()
    },
  }
}
