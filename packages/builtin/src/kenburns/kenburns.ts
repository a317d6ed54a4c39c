// The renderer `kenburns`: a camera travels over one picture.

import { createRandom } from '../art/random.ts'
import type { Rendered, RenderTask } from '../renderer.ts'
import { chooseMotion, drawView, type Motion, motions, planMove, type Scene, viewAt } from '../video/camera.ts'
import { glide } from '../video/easing.ts'
import { drawFramed, framedSize, isShownWhole } from '../video/framed.ts'
import { coverSize, openPicture, type Picture } from '../video/picture.ts'
import { type DrawFrame, readShot, type Shot, shoot } from '../video/shoot.ts'

/** How far a whole picture is approached. */
const approach = 1.07

/** Films the input's `image`. The same input gives the same bytes. */
export async function renderKenBurns(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const shot = readShot(input, Number(input['duration']))
  const picture = await openPicture(task, '/image', shot)
  task.onProgress(0.02)
  const draw = isShownWhole(input['fit'], picture, shot)
    ? await filmWhole(picture, shot, input['motion'] === 'zoom-out')
    : await filmCovering(picture, shot, String(input['motion']), Number(input['seed']))
  return shoot(task, shot, draw)
}

async function filmCovering(picture: Picture, shot: Shot, wanted: string, seed: number): Promise<DrawFrame> {
  const { width, height, fps, frames } = shot
  const seconds = frames / fps
  const [w, h] = coverSize(picture, width, height, 1)
  const scene: Scene = { pictureRatio: w / h, frameRatio: width / height, focus: picture.focus, seconds }
  const motion: Motion = motions.find((one) => one === wanted) ?? chooseMotion(scene, createRandom(`kenburns ${seed}`))
  const move = planMove(motion, scene)
  // At its nearest the camera sees the pixels one to one.
  const nearest = Math.max(move.from.zoom, move.to.zoom)
  const canvas = await picture.toCanvas(...coverSize(picture, width, height, nearest))
  return (context, _seconds, frame) =>
    drawView(context, canvas, viewAt(move, glide(frame / Math.max(1, frames - 1))), width, height)
}

/** Shows the whole picture before a soft enlargement of itself. */
async function filmWhole(picture: Picture, shot: Shot, away: boolean): Promise<DrawFrame> {
  const { width, height, frames } = shot
  const front = await picture.toCanvas(...framedSize(picture, width, height))
  const back = await picture.toBackdrop(Math.ceil(width * 1.1), Math.ceil(height * 1.1))
  return (context, _seconds, frame) => {
    const t = glide(frame / Math.max(1, frames - 1))
    const near = away ? 1 - t : t
    drawView(context, back, { x: 0.5, y: 0.5, zoom: 1.1 - 0.08 * near }, width, height)
    drawFramed(context, front, width, height, approach ** (near - 1))
  }
}
