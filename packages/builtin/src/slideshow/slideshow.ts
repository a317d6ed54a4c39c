// The renderer `slideshow`: several pictures one after the other, each under a slow camera, with captions if there are any.

import { EngineError } from '@mediagen/engine/engine.ts'
import type { Canvas, SKRSContext2D } from '@napi-rs/canvas'
import { createRandom, type Random } from '../art/random.ts'
import { readMegapixels } from '../media-input.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
import { chooseMotion, drawView, type Motion, motions, planMove, type Scene, viewAt } from '../video/camera.ts'
import { between, clamp, easeInOut, glide } from '../video/easing.ts'
import { drawFramed, framedSize, isShownWhole } from '../video/framed.ts'
import { coverSize, openPicture } from '../video/picture.ts'
import { readShot, type Shot, shoot } from '../video/shoot.ts'
import { createTransitions, transitionNames } from '../video/transitions.ts'
import { type Caption, createCaption } from './caption.ts'

/** A transition takes at most this share of the time of a picture. */
const mostTransition = 0.5
/** How far the camera goes over a picture that is shown whole. */
const approach = 1.05
/** Megapixels that the pictures may have together: decoding them is to stay within what the film costs. */
const leastMegapixels = 100
const megapixelsOfFrame = 1.6

/** One picture of the show; `t` runs from 0, when it is first seen, to 1, when it is last seen. */
interface Slide {
  draw(context: SKRSContext2D, t: number): void
}

/** Films the input's `images`. The same input gives the same bytes. */
export async function renderSlideshow(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const count = (input['images'] as string[]).length
  const texts = (input['captions'] ?? []) as string[]
  if (texts.length > count)
    throw new EngineError('invalid_input', `captions has ${texts.length} texts for ${count} images.`)
  const each = Number(input['seconds_each'])
  const shot = readShot(input, each * count)
  await checkPictures(task, count, shot)
  const random = createRandom(`slideshow ${Number(input['seed'])}`)
  const captions = texts.map((text, i) => createCaption(text, `captions[${i}]`, shot))
  const transitions = createTransitions(shot.width, shot.height)
  const order = random.shuffle(transitionNames)
  const chosen = transitionNames.find((name) => name === input['transition'])
  const length = Math.min(Number(input['transition_seconds']), each * mostTransition)

  // Decoded shortly before it is seen; never more than three are held.
  const slides = new Map<number, Slide>()
  const motionsOf = Array.from({ length: count }, () => random.float())
  const prepare = async (index: number): Promise<Slide> => {
    const slide = slides.get(index) ?? (await openSlide(task, index, shot, each + length, String(motionsOf[index])))
    slides.set(index, slide)
    for (const held of slides.keys()) if (Math.abs(held - index) > 1) slides.delete(held)
    return slide
  }
  return shoot(task, shot, async (context, seconds) => {
    // The slide whose time it is, and how far the transition into the next one has come.
    const index = Math.min(count - 1, Math.floor(seconds / each))
    const boundary = Math.round(seconds / each)
    const moment = between(seconds, boundary * each - length / 2, boundary * each + length / 2)
    const seen = (slide: number): number => clamp((seconds - slide * each + length / 2) / (each + length))
    if (boundary > 0 && boundary < count && moment > 0 && moment < 1) {
      const [from, to] = [await prepare(boundary - 1), await prepare(boundary)]
      const name = chosen ?? order[boundary % order.length] ?? 'crossfade'
      transitions[name](
        context,
        (own) => from.draw(own, seen(boundary - 1)),
        (own) => to.draw(own, seen(boundary)),
        moment,
      )
    } else {
      const slide = await prepare(index)
      slide.draw(context, seen(index))
    }
    drawCaptions(context, captions, seconds, each, length)
  })
}

async function checkPictures(task: RenderTask, count: number, { width, height, frames }: Shot): Promise<void> {
  const most = Math.floor(leastMegapixels + (megapixelsOfFrame * width * height * frames) / 1e6)
  let megapixels = 0
  for (let index = 0; index < count; index++) megapixels += await readMegapixels(task, `/images/${index}`)
  if (megapixels <= most) return
  throw new EngineError(
    'invalid_input',
    `images have ${Math.ceil(megapixels)} megapixels together; a film of this size and length takes at most ${most}. Hand in smaller pictures, or ask for a larger or longer film.`,
  )
}

/** A caption comes when its picture has arrived and is gone before the picture leaves. */
function drawCaptions(
  context: SKRSContext2D,
  captions: readonly (Caption | null)[],
  seconds: number,
  each: number,
  transition: number,
): void {
  for (const [i, caption] of captions.entries()) {
    const [start, end] = [i * each + (i === 0 ? 0.2 : transition / 2), (i + 1) * each - transition / 2]
    const move = Math.min(0.6, (end - start) / 3)
    const alpha = Math.min(between(seconds, start, start + move), between(seconds, end, end - move))
    if (caption && alpha > 0) caption.draw(context, easeInOut(alpha))
  }
}

async function openSlide(task: RenderTask, index: number, shot: Shot, seconds: number, chance: string): Promise<Slide> {
  const { width, height } = shot
  const { input } = task
  const picture = await openPicture(task, `/images/${index}`, shot)
  const still = input['motion'] === false
  if (isShownWhole(input['fit'], picture, shot)) {
    const front = await picture.toCanvas(...framedSize(picture, width, height))
    const back = await picture.toBackdrop(Math.ceil(width * 1.1), Math.ceil(height * 1.1))
    return {
      draw(context, t) {
        const near = still ? 1 : glide(t, 0.05)
        drawView(context, back, { x: 0.5, y: 0.5, zoom: 1.1 - 0.06 * near }, width, height)
        drawFramed(context, front, width, height, approach ** (near - 1))
      },
    }
  }
  const [w, h] = coverSize(picture, width, height, 1)
  const scene: Scene = { pictureRatio: w / h, frameRatio: width / height, focus: picture.focus, seconds }
  const move = planMove(pickMotion(scene, createRandom(chance), index), scene)
  const nearest = still ? 1 : Math.max(move.from.zoom, move.to.zoom)
  const canvas: Canvas = await picture.toCanvas(...coverSize(picture, width, height, nearest))
  const rest = { x: picture.focus[0], y: picture.focus[1], zoom: 1 }
  return {
    // In motion when it comes and when it goes: only its ends are softened.
    draw: (context, t) => drawView(context, canvas, still ? rest : viewAt(move, glide(t, 0.05)), width, height),
  }
}

/** Nearer, away, nearer: neighbours do not move alike. */
function pickMotion(scene: Scene, random: Random, index: number): Motion {
  const motion = chooseMotion(scene, random)
  if (motion === 'zoom-in' && index % 2 === 1) return 'zoom-out'
  if (motion === 'zoom-out' && index % 2 === 0) return 'zoom-in'
  return motions.find((one) => one === motion) ?? 'zoom-in'
}
