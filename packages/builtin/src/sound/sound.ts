// Sound in memory: one array of samples for each channel, -1 … 1.

/** Channels of the same length; one is mono, two are left and right. */
export interface Sound {
  /** Samples a second. */
  readonly sampleRate: number
  readonly channels: readonly Float32Array[]
}

/** The rate at which everything is made here: that of films and of Opus. */
export const studioRate = 48_000

/** Samples of each channel. */
export function frameCount(sound: Sound): number {
  return sound.channels[0]?.length ?? 0
}

/** How long it is. */
export function durationSeconds(sound: Sound): number {
  return frameCount(sound) / sound.sampleRate
}

/** Applies a function to each channel. */
export function mapChannels(sound: Sound, change: (samples: Float32Array) => Float32Array): Sound {
  return { ...sound, channels: sound.channels.map(change) }
}

/** From decibels to a factor: 0 dB is 1, -6 dB about a half. */
export function fromDecibels(decibels: number): number {
  return 10 ** (decibels / 20)
}
