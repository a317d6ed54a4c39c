// The camera over a picture: whatever the proportions, it never looks past an edge and its pace is even.

import { expect, test } from 'vitest'
import { motions, planMove, viewAt } from '../../../src/engines/builtin/video/camera.ts'
import { glide } from '../../../src/engines/builtin/video/easing.ts'

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
