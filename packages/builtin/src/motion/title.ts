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
    // Evenly over all: a shade behind the words alone looks like a stain.
    context.fillStyle = `rgba(0,0,0,${(0.3 * presence).toFixed(4)})`
    context.fillRect(0, 0, width, height)
    for (const [i, line] of title.lines.entries()) {
      const t = easeOut((time - delay - i * lineDelay) / riseSeconds)
      drawLine(context, line, 0, title.size * 0.35 * (1 - t), Math.min(t, easeInOut((seconds - time) / fadeSeconds)))
    }
  }
}
