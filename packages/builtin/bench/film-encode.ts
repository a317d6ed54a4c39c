// Encodes raw frames with what ships and prints how long it took. Frames, film, format, width, height, frames a second.
import { readFile } from 'node:fs/promises'
import { openFilm } from '../src/film/film.ts'

const [raw = '', file = '', format = '', ...numbers] = process.argv.slice(2)
const [width = 0, height = 0, fps = 0] = numbers.map(Number)
const pixels = await readFile(raw)
const bytes = width * height * 4
const frames = pixels.length / bytes

const [startedAt, before] = [performance.now(), process.cpuUsage()]
await using film = await openFilm({
  width,
  height,
  fps,
  frames,
  file,
  format: format === 'webm' ? 'webm' : 'mp4',
  sound: null,
  ffmpeg: null,
})
for (let frame = 0; frame < frames; frame++) await film.addFrame(pixels.subarray(frame * bytes, (frame + 1) * bytes))
await film.close()
const { user, system } = process.cpuUsage(before)
process.stdout.write(
  JSON.stringify({ seconds: (performance.now() - startedAt) / 1000, cpuSeconds: (user + system) / 1e6 }),
)
