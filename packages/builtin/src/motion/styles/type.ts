// Style `type`: the words themselves, a few at a time, large and in motion.

import type { SKRSContext2D } from '@napi-rs/canvas'
import { type Color, css, mix } from '../../color.ts'
import { directionOf } from '../../text/bidi.ts'
import { splitUnits } from '../../text/breaks.ts'
import { languageOf } from '../../text/language.ts'
import { clamp, easeIn, easeInOut, easeOut, easeOutBack } from '../../video/easing.ts'
import { drawLine, letter, type Lettering } from '../../video/lettering.ts'
import type { MotionStage, MotionStyle } from '../stage.ts'

/** A card is read for at least so long, and has as many letters when there is time. */
const [leastSeconds, goodLength] = [1.25, 16]
const [enterSeconds, lineDelay, leaveSeconds, wipeSeconds] = [0.6, 0.1, 0.28, 0.5]

interface Card {
  readonly lettering: Lettering
  readonly ground: Color
  readonly mark: Color
  readonly entrance: Entrance
  readonly figure: Figure
  readonly wipe: number
}

/** Draws the lines of a card; `enter` and `leave` are seconds since it began to come and to go. */
type Entrance = (context: SKRSContext2D, card: Card, enter: number, leave: number, stage: MotionStage) => void

/** A shape behind the words; `t` runs through the time of its card. */
type Figure = (context: SKRSContext2D, stage: MotionStage, color: Color, t: number) => void

export const type: MotionStyle = (stage) => {
  const cards = createCards(stage)
  const each = stage.seconds / cards.length
  return (context, phase) => {
    const time = phase * stage.seconds
    const boundary = Math.round(time / each)
    const wipe = clamp((time - boundary * each) / wipeSeconds + 0.5)
    const isBetween = boundary > 0 && boundary < cards.length && wipe > 0 && wipe < 1
    const index = Math.min(cards.length - 1, isBetween ? boundary - 1 : Math.floor(time / each))
    drawCard(context, stage, cards, index, time, each)
    if (!isBetween) return
    context.save()
    clipWipe(context, stage, cards[boundary]?.wipe ?? 0, easeInOut(wipe))
    drawCard(context, stage, cards, boundary, time, each)
    context.restore()
  }
}

function drawCard(
  context: SKRSContext2D,
  stage: MotionStage,
  cards: readonly Card[],
  index: number,
  time: number,
  each: number,
): void {
  const card = cards[index] as Card
  const [since, isLast] = [time - index * each, index === cards.length - 1]
  context.fillStyle = css(card.ground)
  context.fillRect(0, 0, stage.width, stage.height)
  card.figure(context, stage, card.mark, since / each)
  // The last words stay.
  const leave = isLast ? 0 : since - (each - leaveSeconds)
  const drift = 1 + 0.025 * clamp(since / each)
  context.save()
  context.translate(stage.width / 2, stage.height / 2)
  context.scale(drift, drift)
  context.translate(-stage.width / 2, -stage.height / 2)
  card.entrance(context, card, since + (index === 0 ? 0.12 : 0.05), leave, stage)
  context.restore()
}

function createCards(stage: MotionStage): Card[] {
  const { width, height, unit, random, palette, words, seconds } = stage
  const most = Math.max(1, Math.floor(seconds / leastSeconds))
  const texts = divide(words, Math.min(most, Math.max(1, Math.round(words.length / goodLength))))
  const grounds = [
    palette.shade(0.06),
    palette.accent(0),
    palette.ground,
    palette.accent(2),
    palette.shade(0.3),
    palette.accent(1),
  ]
  const first = random.int(0, 1)
  const styles = random.shuffle(entrances)
  const shapes = random.shuffle(figures)
  // A part of a text runs as the whole does, and its characters have the same forms.
  const whole = { direction: directionOf(words), language: languageOf(words) }
  return texts.map((text, i) => {
    const ground = grounds[(first + i) % grounds.length] as Color
    const ink = ground.l > 0.64 ? mix(palette.shade(0.02), ground, 0.08) : palette.shade(0.98)
    const look = {
      ...whole,
      weight: 800,
      letterSpacing: -0.025,
      display: true,
      color: css(ink),
      align: 'center',
    } as const
    return {
      lettering: letter(text, look, {
        width: width * 0.84,
        height: height * 0.66,
        lineHeight: 1.02,
        minSize: unit * 0.03,
        maxSize: unit * 0.3,
        maxLines: 6,
        centerX: width / 2,
        centerY: height / 2,
      }),
      ground,
      mark: mix(ground, palette.accent(i + 3), 0.38),
      entrance: styles[i % styles.length] as Entrance,
      figure: shapes[i % shapes.length] as Figure,
      wipe: random.int(0, 3),
    }
  })
}

/** Cuts a text into so many parts of about the same length, rather after punctuation than elsewhere. */
function divide(text: string, count: number): string[] {
  const language = languageOf(text)
  const phrases = splitUnits(text, 'phrase', language)
  const words = phrases.length < count ? splitUnits(text, 'word', language) : phrases
  const parts: string[] = []
  let [part, left, space] = ['', text.length, '']
  for (const [i, { text: word, space: after }] of words.entries()) {
    part += space + word
    space = after
    const goal = left / Math.max(1, count - parts.length)
    // A space is a pause in Thai, which has none between words.
    const isPause = after !== '' && /\p{Script=Thai}\p{M}*$/u.test(word)
    const stops = isPause || /[.!?,;:—–。、，！？；：،؛؟।]["”’)」』）]*$/.test(word)
    const next = words[i + 1]?.text.length ?? 0
    if (parts.length < count - 1 && (part.length + next / 2 >= goal || (stops && part.length > goal * 0.55))) {
      parts.push(part)
      left -= part.length + space.length
      part = space = ''
    }
  }
  return part === '' ? parts : [...parts, part]
}

const entrances: readonly Entrance[] = [rise, drop, sides, rise, pop]

/** Each line comes up from behind an edge. */
function rise(context: SKRSContext2D, { lettering }: Card, enter: number, leave: number): void {
  eachLine(lettering, enter, leave, (line, t, gone) => {
    const tall = line.picture.height
    context.save()
    context.beginPath()
    context.rect(line.left, line.top, line.picture.width, tall)
    context.clip()
    drawLine(context, line, 0, tall * ((1 - easeOut(t)) * 1.02 - easeIn(gone) * 1.02))
    context.restore()
  })
}

/** Each line falls into its place and bounces a little. */
function drop(context: SKRSContext2D, { lettering }: Card, enter: number, leave: number): void {
  eachLine(lettering, enter, leave, (line, t, gone) =>
    drawLine(
      context,
      line,
      0,
      -lettering.size * 1.2 * (1 - easeOutBack(t)) + lettering.size * easeIn(gone),
      Math.min(t * 4, 1 - gone),
    ),
  )
}

/** Lines come from left and right by turns. */
function sides(context: SKRSContext2D, { lettering }: Card, enter: number, leave: number, stage: MotionStage): void {
  eachLine(lettering, enter, leave, (line, t, gone, i) => {
    const way = i % 2 === 0 ? -1 : 1
    drawLine(context, line, way * stage.width * (1 - easeOut(t) - easeIn(gone)), 0)
  })
}

/** All grow out of the middle. */
function pop(context: SKRSContext2D, { lettering }: Card, enter: number, leave: number, stage: MotionStage): void {
  const [t, gone] = [clamp(enter / enterSeconds), clamp(leave / leaveSeconds)]
  const scale = (0.55 + 0.45 * easeOutBack(t)) * (1 + 0.35 * easeIn(gone))
  context.save()
  context.translate(stage.width / 2, stage.height / 2)
  context.scale(scale, scale)
  context.translate(-stage.width / 2, -stage.height / 2)
  for (const line of lettering.lines) drawLine(context, line, 0, 0, Math.min(t * 3, 1 - gone))
  context.restore()
}

function eachLine(
  { lines }: Lettering,
  enter: number,
  leave: number,
  draw: (line: Lettering['lines'][number], t: number, gone: number, index: number) => void,
): void {
  for (const [i, line] of lines.entries()) {
    const t = clamp((enter - i * lineDelay) / enterSeconds)
    if (t > 0) draw(line, t, clamp((leave + (lines.length - 1 - i) * 0.02) / leaveSeconds), i)
  }
}

const figures: readonly Figure[] = [
  // A ring that opens.
  (context, { width, height, unit }, color, t) => {
    const open = easeOut(t * 1.6)
    context.strokeStyle = css(color)
    context.lineWidth = unit * (0.16 - 0.1 * open)
    context.beginPath()
    context.arc(width / 2, height / 2, unit * (0.16 + 0.36 * open + 0.03 * t), 0, 2 * Math.PI)
    context.stroke()
  },
  // Bars that slide across, one after the other.
  (context, { width, height, unit }, color, t) => {
    context.fillStyle = css(color)
    for (let i = 0; i < 4; i++) {
      const reach = easeInOut((t - 0.04 * i) * 2.2)
      const [thick, y] = [unit * 0.055, height * (0.12 + 0.25 * i)]
      if (i % 2 === 0) context.fillRect(0, y, width * reach * (0.3 + 0.12 * i), thick)
      else context.fillRect(width * (1 - reach * (0.5 - 0.08 * i)), y, width, thick)
    }
  },
  // A disc that rolls in from below.
  (context, { width, height, unit }, color, t) => {
    context.fillStyle = css(color)
    context.beginPath()
    const y = height * (1.5 - 0.62 * easeOut(t * 1.5)) - 0.03 * height * t
    context.arc(width * 0.74, y, unit * 0.52, 0, 2 * Math.PI)
    context.fill()
  },
  // A grid of dots that swells from one corner.
  (context, { width, height, unit }, color, t) => {
    context.fillStyle = css(color)
    const step = unit * 0.085
    for (let y = step / 2; y < height; y += step) {
      for (let x = step / 2; x < width; x += step) {
        const far = Math.hypot(x / width, 1 - y / height) / Math.SQRT2
        const size = easeOut((t * 1.9 - far) * 1.6) * (1 - far) * step * 0.4
        if (size <= 0.2) continue
        context.beginPath()
        context.arc(x, y, size, 0, 2 * Math.PI)
        context.fill()
      }
    }
  },
]

function clipWipe(context: SKRSContext2D, { width, height }: MotionStage, kind: number, t: number): void {
  context.beginPath()
  const lean = height * 0.3
  if (kind === 0) context.arc(width / 2, height / 2, (Math.hypot(width, height) / 2) * t, 0, 2 * Math.PI)
  else if (kind === 1) context.rect(0, height * (1 - t), width, height)
  else if (kind === 2) context.rect(0, 0, width * t, height)
  else {
    const edge = -lean + (width + 2 * lean) * t
    context.moveTo(0, 0)
    context.lineTo(edge + lean, 0)
    context.lineTo(edge - lean, height)
    context.lineTo(0, height)
    context.closePath()
  }
  context.clip()
}
