// Loudness as people hear it, after ITU-R BS.1770: weighted, in blocks, without the pauses.

import { applyFilters, highPass, highShelf } from './filter.ts'
import type { Sound } from './sound.ts'

const blockSeconds = 0.4
const stepSeconds = 0.1
const silenceLufs = -70
const relativeGate = -10

/** The integrated loudness in LUFS; -70 for silence. */
export function measureLoudness(sound: Sound): number {
  const energies = measureBlocks(sound)
  const audible = energies.filter((energy) => toLufs(energy) > silenceLufs)
  if (audible.length === 0) return silenceLufs
  const gate = toLufs(mean(audible)) + relativeGate
  return toLufs(mean(audible.filter((energy) => toLufs(energy) > gate)))
}

/** The weighted energy of each block, all channels together. */
function measureBlocks(sound: Sound): number[] {
  const { sampleRate } = sound
  // The two filters of the recommendation: the head, then the low end.
  const weighting = [highShelf(sampleRate, 1681.97, 4, 0.7072), highPass(sampleRate, 38.135, 0.5003)]
  const step = Math.round(stepSeconds * sampleRate)
  const steps = Math.max(1, Math.ceil((sound.channels[0]?.length ?? 0) / step))
  const sums = new Float64Array(steps)
  for (const channel of sound.channels) {
    const weighted = applyFilters(channel, weighting)
    for (let i = 0; i < weighted.length; i++)
      sums[Math.floor(i / step)] = (sums[Math.floor(i / step)] as number) + (weighted[i] as number) ** 2
  }
  const width = Math.round(blockSeconds / stepSeconds)
  const blocks: number[] = []
  // What is shorter than a block is one.
  for (let first = 0; first === 0 || first + width <= steps; first++) {
    const block = sums.subarray(first, first + width)
    blocks.push(block.reduce((sum, energy) => sum + energy, 0) / (block.length * step))
  }
  return blocks
}

function toLufs(energy: number): number {
  return -0.691 + 10 * Math.log10(Math.max(energy, 1e-12))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
