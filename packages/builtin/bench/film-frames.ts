// Draws the frames that encoders are given: a ride past hills, with a title that comes and goes. Path, width, height, frames.
import { open } from 'node:fs/promises'
import { createCanvas } from '@napi-rs/canvas'
import { createPalette } from '../src/art/palette.ts'
import { createNoise, createRandom } from '../src/art/random.ts'
import { motionStyles } from '../src/motion/styles.ts'
import { createTitle } from '../src/motion/title.ts'

const [path = '', ...numbers] = process.argv.slice(2)
const [width = 0, height = 0, frames = 0] = numbers.map(Number)
const random = createRandom('bench')
const stage = {
  width,
  height,
  unit: Math.min(width, height),
  seconds: frames / 30,
  words: '',
  palette: createPalette('sunset', random),
  noise: createNoise(random),
  random,
}
const scene = motionStyles.landscape(stage)
const title = createTitle('The same frames', stage)
const context = createCanvas(width, height).getContext('2d')
await using file = await open(path, 'w')
for (let frame = 0; frame < frames; frame++) {
  scene(context, frame / frames)
  title?.(context, frame / frames)
  await file.write(context.getImageData(0, 0, width, height).data)
}
process.stdout.write('null')
