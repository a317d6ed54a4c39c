// What the outputs of a job measure together (P191).
import { expect, test } from 'vitest'
import { type Asset, measureOutputs } from '../../src/core/files/asset.ts'

const sound = (durationSeconds: number): Asset => ({
  key: 'job_1/0.wav',
  contentType: 'audio/wav',
  bytes: 1,
  width: null,
  height: null,
  durationSeconds,
  sha256: '',
  previewKey: null,
  blurhash: null,
})

test('seconds and megapixels are added as decimals', () => {
  const picture = { ...sound(0), durationSeconds: null, width: 1100, height: 1000 }
  const measured = measureOutputs([sound(0.1), sound(0.2), picture, picture, picture])
  expect(measured).toEqual({ images: 3, seconds: 0.3, megapixels: 3.3 })
})

test('a quantity that no file has is missing', () => {
  expect(measureOutputs([sound(2)])).toEqual({ seconds: 2 })
})
