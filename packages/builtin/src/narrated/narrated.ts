// The renderer `narrated`: a title, then a text that is read aloud, its words in step with the voice.

import { EngineError } from '@mediagen/engine/engine.ts'
import type { SKRSContext2D } from '@napi-rs/canvas'
import { createPalette } from '../art/palette.ts'
import { createNoise, createRandom } from '../art/random.ts'
import { css } from '../color.ts'
import type { MotionStage } from '../motion/stage.ts'
import { createGradient } from '../motion/styles/gradient.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
import { type VoiceName, voiceNames } from '../speech/voices.ts'
import { directionOf } from '../text/bidi.ts'
import { drawLines, fitText } from '../text/fit.ts'
import { toSettableText } from '../text/runs.ts'
import { between, clamp, easeIn, easeInOut, easeOut } from '../video/easing.ts'
import { drawLine, letter } from '../video/lettering.ts'
import { readShot, type Shot, shoot } from '../video/shoot.ts'
import { createCaptions } from './captions.ts'
import { narrate, type Narration } from './narration.ts'
import { createTheme, type NarratedTheme } from './themes.ts'

/** The assumptions of the price: seconds around the words, and letters per second at speed 1. */
const [secondsAround, lettersPerSecond] = [4, 14]
/** The maximum length of a film, as a multiple of the length that its price assumes. */
const mostOvertime = 2
/** One round of the background. */
const secondsPerRound = 18
const [titleLeaves, riseSeconds, lineDelay] = [0.45, 0.8, 0.1]

type Layer = (context: SKRSContext2D, seconds: number) => void

/** Films the input's `title` and `text`. The same input gives the same bytes. */
export async function renderNarrated(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const title = toSettableText('title', String(input['title']))
  const text = toSettableText('text', String(input['text']))
  const voice: VoiceName = voiceNames.find((name) => name === input['voice']) ?? 'slt'
  const speed = Number(input['speed'])
  const [pitch, expression] = [Number(input['pitch']), Number(input['expression'])]
  const narration = await narrate(title, text, input['speak_title'] === true, { voice, speed, pitch, expression })
  requirePaidLength(narration.seconds, title.length + text.length, speed)
  task.onProgress(0.03)
  const shot = { ...readShot(input, narration.seconds), sound: narration.sound }
  const seed = `narrated ${title}`
  const theme = createTheme(String(input['theme']), createRandom(`palette ${seed}`))
  const layers = [
    createBackground(shot, theme, seed),
    createOpening(title, shot, theme, narration),
    createHeader(title, shot, theme, narration),
    createText(shot, theme, narration),
  ]
  return shoot(
    task,
    shot,
    (context, seconds) => {
      for (const draw of layers) draw(context, seconds)
    },
    0.03,
  )
}

/** Refuses a text that takes far longer to say than its letters suggest, because the price is fixed before anything is spoken. */
function requirePaidLength(seconds: number, letters: number, speed: number): void {
  const most = mostOvertime * (secondsAround + letters / lettersPerSecond / speed)
  if (seconds <= most) return
  throw new EngineError(
    'invalid_input',
    `text makes a film of ${Math.ceil(seconds)} seconds, and one with so many letters may last ${Math.floor(most)}: signs, numbers and pauses take long to say. Write fewer of them.`,
  )
}

function createBackground(shot: Shot, theme: NarratedTheme, seed: string): Layer {
  const { width, height, frames, fps } = shot
  const random = createRandom(seed)
  const stage: MotionStage = {
    width,
    height,
    unit: Math.min(width, height),
    seconds: frames / fps,
    words: '',
    palette: createPalette('ink', random),
    noise: createNoise(random),
    random,
  }
  const scene = createGradient(stage, theme.ramp, secondsPerRound)
  return (context, seconds) => scene(context, seconds / stage.seconds)
}

/** The title, large, beside a bar that grows; it leaves upwards. */
function createOpening(title: string, { width, height }: Shot, theme: NarratedTheme, { titleEnd }: Narration): Layer {
  const unit = Math.min(width, height)
  const margin = unit * 0.1
  const bar = unit * 0.014
  const left = margin + bar + unit * 0.05
  const isFromRight = directionOf(title) === 'rtl'
  const middle = left + (width - left - margin) / 2
  const lettering = letter(
    title,
    {
      weight: 800,
      letterSpacing: -0.03,
      display: true,
      color: css(theme.ink),
      align: isFromRight ? 'right' : 'left',
    },
    {
      width: width - left - margin,
      height: height * 0.62,
      lineHeight: 1.05,
      minSize: unit * 0.04,
      maxSize: unit * 0.2,
      maxLines: 6,
      centerX: isFromRight ? width - middle : middle,
      centerY: height / 2,
    },
  )
  return (context, seconds) => {
    const gone = clamp((seconds - (titleEnd - titleLeaves)) / titleLeaves)
    if (gone >= 1) return
    const [away, alpha] = [unit * 0.12 * easeIn(gone), 1 - easeInOut(gone)]
    // The first frame is not empty.
    const grown = lettering.height * (0.08 + 0.92 * easeOut(seconds / 1.1))
    context.save()
    context.globalAlpha = alpha
    context.fillStyle = css(theme.accent)
    const barTop = lettering.top + (lettering.height - grown) / 2 - away
    context.fillRect(isFromRight ? width - margin - bar : margin, barTop, bar, grown)
    for (const [i, line] of lettering.lines.entries()) {
      const t = easeOut((seconds - 0.12 - i * lineDelay) / riseSeconds)
      drawLine(context, line, unit * (isFromRight ? -0.05 : 0.05) * (1 - t), -away, t)
    }
    context.restore()
  }
}

/** The title once more, small, and how far the film is. */
function createHeader(title: string, shot: Shot, theme: NarratedTheme, { titleEnd }: Narration): Layer {
  const { width, height } = shot
  const [unit, seconds] = [Math.min(width, height), shot.frames / shot.fps]
  const margin = unit * 0.1
  const style = { weight: 600 } as const
  const fitted = fitText(title, style, {
    width: width - 2 * margin,
    height: unit * 0.05,
    lineHeight: 1.2,
    minSize: unit * 0.018,
    maxSize: unit * 0.036,
    maxLines: 1,
  })
  const isFromRight = fitted.direction === 'rtl'
  const look = { ...style, color: css(theme.ink), align: isFromRight ? 'right' : 'left' } as const
  return (context, now) => {
    const presence = easeInOut(between(now, titleEnd - 0.1, titleEnd + 0.5))
    if (presence <= 0) return
    context.save()
    context.globalAlpha = 0.75 * presence
    drawLines(context, fitted, isFromRight ? width - margin : margin, margin - fitted.size * 0.33, look)
    const [top, thick] = [height - margin * 0.62, Math.max(2, unit * 0.006)]
    context.globalAlpha = 0.18 * presence
    context.fillStyle = css(theme.ink)
    context.fillRect(margin, top, width - 2 * margin, thick)
    context.globalAlpha = presence
    context.fillStyle = css(theme.accent)
    context.fillRect(margin, top, (width - 2 * margin) * between(now, titleEnd, seconds - 0.2), thick)
    context.restore()
  }
}

function createText(shot: Shot, theme: NarratedTheme, { pages }: Narration): Layer {
  const { width, height } = shot
  const unit = Math.min(width, height)
  const margin = unit * 0.1
  const area = {
    left: margin,
    top: margin + unit * 0.08,
    width: width - 2 * margin,
    height: height - 2 * margin - unit * 0.12,
    unit,
  }
  const colors = { said: css(theme.ink), saying: css(theme.accent), coming: css(theme.ink, 0.42) }
  return createCaptions(pages, area, colors, shot.frames / shot.fps)
}
