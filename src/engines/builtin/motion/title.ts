// A title over motion graphics: it rises line by line, stays to be read, and fades.

import { clamp, easeInOut, easeOut } from '../video/easing.ts'
import { drawLine, letter } from '../video/lettering.ts'
import type { MotionStage, Scene } from './stage.ts'

const [delay, lineDelay, riseSeconds, fadeSeconds] = [0.25, 0.12, 0.9, 0.6]

/** Sets a title; null when there are no words. */
export function createTitle(words: string, { width, height, unit, seconds }: MotionStage): Scene | null {
  if (words === '') return null
  const look = {
    weight: 700,
    letterSpacing: -0.02,
    display: true,
    color: '#ffffff',
    align: 'center',
    shadow: { color: 'rgba(0,0,0,0.5)', blur: unit * 0.03 },
  } as const
  const title = letter(words, look, {
    width: width * 0.8,
    height: height * 0.5,
    lineHeight: 1.08,
    minSize: unit * 0.04,
    maxSize: unit * 0.15,
    maxLines: 4,
    centerX: width / 2,
    centerY: height / 2,
  })
  return (context, phase) => {
    const time = phase * seconds
    const presence = easeInOut(clamp((time - delay) / riseSeconds)) * easeInOut((seconds - time) / fadeSeconds)
    if (presence <= 0) return
    const reach = Math.max(width * 0.5, title.height)
    const shade = context.createRadialGradient(width / 2, height / 2, 0, width / 2, height / 2, reach)
    for (let step = 0; step <= 6; step++)
      shade.addColorStop(step / 6, `rgba(0,0,0,${(0.42 * presence * (1 - easeInOut(step / 6))).toFixed(4)})`)
    context.fillStyle = shade
    context.fillRect(0, 0, width, height)
    for (const [i, line] of title.lines.entries()) {
      const t = easeOut((time - delay - i * lineDelay) / riseSeconds)
      drawLine(context, line, 0, title.size * 0.35 * (1 - t), Math.min(t, easeInOut((seconds - time) / fadeSeconds)))
    }
  }
}
