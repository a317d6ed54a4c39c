// The camera over a picture: whatever the proportions, it never looks past an edge and its pace is even.

import { createCanvas } from '@napi-rs/canvas'
import { expect, test } from 'vitest'
import { drawView, motions, planMove, viewAt } from '../src/video/camera.ts'
import { glide } from '../src/video/easing.ts'

const ratios = [0.3, 0.75, 1, 16 / 9, 4]
const scenes = ratios.flatMap((pictureRatio) =>
  [9 / 16, 1, 16 / 9].flatMap((frameRatio) =>
    [0.5, 5, 30].map((seconds) => ({ pictureRatio, frameRatio, seconds, focus: [0.2, 0.8] as const })),
  ),
)
const frames = 100

test.each(motions)('%s stays within the picture and goes somewhere', (motion) => {
  for (const scene of scenes) {
    const move = planMove(motion, scene)
    expect(move.from).not.toEqual(move.to)
    for (let frame = 0; frame <= frames; frame++) {
      const { x, y, zoom } = viewAt(move, frame / frames)
      const [halfWidth, halfHeight] = [
        Math.min(1, scene.frameRatio / scene.pictureRatio) / zoom / 2,
        Math.min(1, scene.pictureRatio / scene.frameRatio) / zoom / 2,
      ]
      for (const [at, half] of [
        [x, halfWidth],
        [y, halfHeight],
      ] as const) {
        expect(at - half).toBeGreaterThan(-1e-6)
        expect(at + half).toBeLessThan(1 + 1e-6)
      }
    }
  }
})

test('a glide starts and ends at rest, never goes back, and keeps one pace in between', () => {
  const steps = Array.from({ length: frames }, (_, i) => glide((i + 1) / frames) - glide(i / frames))
  expect(glide(0)).toBe(0)
  expect(glide(1)).toBe(1)
  expect(Math.min(...steps)).toBeGreaterThan(0)
  expect(Math.max(...steps)).toBeLessThan(1.4 / frames)
  const changes = steps.slice(1).map((step, i) => Math.abs(step - (steps[i] ?? 0)))
  expect(Math.max(...changes)).toBeLessThan(0.12 * Math.max(...steps))
})

// Where an edge stands is told by how grey the pixels are that it crosses. Whole pixels would show as steps of 0 and 1.
test.each([
  ['pan-right', 0.1],
  ['pan-left', 0.1],
  ['zoom-in', 0.25],
  ['zoom-out', 0.25],
] as const)('%s moves an edge by fractions of a pixel, each step within %f of the last', (motion, most) => {
  const [width, height] = [640, 360]
  const scene = { pictureRatio: 16 / 9, frameRatio: 16 / 9, focus: [0.4, 0.45] as const, seconds: 5 }
  const move = planMove(motion, scene)
  const zoom = Math.max(move.from.zoom, move.to.zoom)
  const picture = createCanvas(Math.ceil(width * zoom), Math.ceil(height * zoom))
  const ink = picture.getContext('2d')
  ink.fillStyle = '#fff'
  ink.fillRect(0, 0, picture.width, picture.height)
  ink.fillStyle = '#000'
  ink.fillRect(0, 0, Math.round(picture.width * 0.55), picture.height)
  const context = createCanvas(width, height).getContext('2d')
  const edges = Array.from({ length: 125 }, (_, frame) => {
    drawView(context, picture, viewAt(move, glide(frame / 124)), width, height)
    const { data } = context.getImageData(0, height / 2, width, 1)
    let dark = 0
    for (let i = 0; i < data.length; i += 4) dark += 1 - data[i]! / 255
    return dark
  })
  const steps = edges.slice(1).map((edge, i) => edge - edges[i]!)
  const changes = steps.slice(1).map((step, i) => Math.abs(step - steps[i]!))
  expect(Math.max(...changes)).toBeLessThan(most)
  // It goes one way only, and somewhere.
  expect(Math.abs(steps.reduce((sum, step) => sum + Math.sign(step), 0))).toBeGreaterThan(115)
})
