// Frames a second of 720p: the encoders that ship against Debian's ffmpeg (x264 veryfast), given the same frames on the same core.
import { join } from 'node:path'
import { type Bench, makeFolder, type Row } from './bench.ts'
import { toSpread } from './rounds.ts'
import { runPinned, runScript } from './run-pinned.ts'

const [width, height, fps, frames, rounds] = [1280, 720, 30, 90, 3]

/** Seconds for all frames, by the clock and of the processor. */
interface Taken {
  readonly seconds: number
  readonly cpuSeconds: number
}

/** Runs the benchmark. */
export async function benchFilm(bench: Bench): Promise<readonly Row[]> {
  const folder = makeFolder(bench)
  const raw = join(folder, 'frames.rgba')
  await runScript(bench.cores, 'film-frames.ts', [raw, String(width), String(height), String(frames)])
  const rows: Row[] = []
  for (const format of ['mp4', 'webm'] as const) {
    const pairs: { baseline: Taken; candidate: Taken }[] = []
    for (let round = 0; round < rounds; round++) {
      const baseline = await encodeByFfmpeg(bench, raw, join(folder, 'baseline.mp4'))
      const args = [raw, join(folder, `candidate.${format}`), format, String(width), String(height), String(fps)]
      pairs.push({ baseline, candidate: (await runScript(bench.cores, 'film-encode.ts', args)) as Taken })
    }
    rows.push(toRow(format, pairs))
  }
  return rows
}

async function encodeByFfmpeg(bench: Bench, raw: string, file: string): Promise<Taken> {
  const input = ['-f', 'rawvideo', '-pix_fmt', 'rgba', '-video_size', `${width}x${height}`, '-framerate', String(fps)]
  const output = ['-c:v', 'libx264', '-preset', 'veryfast', '-pix_fmt', 'yuv420p', '-threads', '1', file]
  const options = ['-hide_banner', '-nostdin', '-y', '-benchmark', ...input, '-i', raw, ...output]
  const { stderr } = await runPinned(bench.cores, 'ffmpeg', options)
  const [, user, system, real] = /utime=([\d.]+)s stime=([\d.]+)s rtime=([\d.]+)s/.exec(stderr) ?? []
  return { seconds: Number(real), cpuSeconds: Number(user) + Number(system) }
}

function toRow(format: string, pairs: readonly { baseline: Taken; candidate: Taken }[]): Row {
  const write = (values: readonly number[]): string => {
    const { median, min, max } = toSpread(values)
    return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`
  }
  const side = (taken: readonly Taken[]): string => {
    const rate = frames / toSpread(taken.map(({ seconds }) => seconds)).median
    const cpu = (1000 * toSpread(taken.map(({ cpuSeconds }) => cpuSeconds)).median) / frames
    return `${rate.toFixed(0)} frames/s ${cpu.toFixed(1)} ms`
  }
  const candidates = pairs.map(({ candidate }) => candidate)
  return {
    what: `film ${format}`,
    value: write(pairs.map(({ baseline, candidate }) => baseline.seconds / candidate.seconds)),
    byCpu: write(pairs.map(({ baseline, candidate }) => baseline.cpuSeconds / candidate.cpuSeconds)),
    target: '',
    reached: true,
    figures: `${side(candidates)} against ${side(pairs.map(({ baseline }) => baseline))} of x264`,
  }
}
