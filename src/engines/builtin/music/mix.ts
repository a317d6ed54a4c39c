// Plays the notes of a piece and puts the parts together: places, room, echoes, and the last polish.

import { createRandom } from '../art/random.ts'
import { applyFilters, highPass } from '../sound/filter.ts'
import { master } from '../sound/master.ts'
import { mapChannels, type Sound, studioRate } from '../sound/sound.ts'
import { type Event, type PartName, partNames, type Piece } from './compose.ts'
import { createKit, type DrumName } from './drums.ts'
import { addReverb, age, chorus, createStereo, duck, echo, saturate, type Stereo } from './effects.ts'
import { instruments } from './instruments.ts'
import type { PartStyle, Style } from './style.ts'
import { styles } from './styles.ts'
import { toHertz } from './theory.ts'

const loudness = -16
const ceiling = -1.5
const eventsPerYield = 12

// Left is -1, right 1; notes of a chord lie around the part's place.
const places: Record<PartName, { readonly at: number; readonly spread: number }> = {
  pad: { at: 0, spread: 0.8 },
  chords: { at: -0.15, spread: 0.45 },
  bass: { at: 0, spread: 0 },
  lead: { at: 0.12, spread: 0.05 },
}

const drumPlaces: Partial<Record<DrumName, number>> = {
  hat: 0.3,
  openHat: 0.3,
  ride: -0.35,
  shaker: -0.4,
  rim: -0.25,
  tom: 0.2,
  crash: 0.15,
}

/** Plays a piece into a sound of exactly this duration. Told of its progress, 0 … 1. */
export async function mix(
  piece: Piece,
  duration: number,
  seed: string,
  onProgress: (fraction: number) => void,
): Promise<Sound> {
  const style: Style = styles[piece.style]
  const frames = Math.round(duration * studioRate)
  const [dry, room] = [createStereo(frames), createStereo(frames)]
  const kicks = piece.strokes.filter(({ drum }) => drum === 'kick').map(({ start }) => start)
  let [played, total] = [0, piece.events.length]
  for (const part of partNames) {
    const partStyle = style[part]
    const events = piece.events.filter((event) => event.part === part)
    if (!partStyle || events.length === 0) continue
    const bus = createStereo(frames)
    const random = createRandom(`${part} ${seed}`)
    for (const [i, event] of events.entries()) {
      addNote(bus, event, partStyle, places[part], random)
      if (i % eventsPerYield === 0) {
        onProgress((0.6 * (played + i)) / total)
        await new Promise(setImmediate)
      }
    }
    played += events.length
    if (part === 'lead') echo(bus, (style.echoBeats * 60) / piece.bpm, 0.35, 0.3)
    if (style.effect === 'chorus' && (part === 'pad' || part === 'chords')) chorus(bus, 0.003, 0.4, 0.7)
    if (style.duck > 0) duck(bus, kicks, part === 'lead' ? style.duck / 2 : style.duck, Math.min(0.4, 42 / piece.bpm))
    addBus(bus, dry, 1)
    addBus(bus, room, partStyle.room)
  }
  if (style.drums) {
    const bus = createStereo(frames)
    const kit = createKit(style.drums.kit, createRandom(`drums ${seed}`))
    for (const { drum, start, velocity } of piece.strokes)
      addSamples(bus, kit[drum], start, velocity * style.drums.level * 0.8, drumPlaces[drum] ?? 0)
    addBus(bus, dry, 1)
    addBus(bus, room, 0.1)
  }
  onProgress(0.7)
  addReverb(room, dry, style.room.seconds, style.room.darkness, style.room.gain)
  onProgress(0.8)
  await new Promise(setImmediate)
  if (style.effect === 'tape') {
    const random = createRandom(`dust ${seed}`)
    age(dry, () => random.float())
  }
  if (style.drive > 0) saturate(dry, style.drive)
  onProgress(0.87)
  const clean = mapChannels({ sampleRate: studioRate, channels: [dry.left, dry.right] }, (samples) =>
    applyFilters(samples, [highPass(studioRate, 28)]),
  )
  fadeOut(clean, piece.endSeconds)
  await new Promise(setImmediate)
  master(clean, { loudness, ceiling })
  onProgress(1)
  return clean
}

function addNote(
  bus: Stereo,
  event: Event,
  { instrument, level, center }: PartStyle,
  { at, spread }: { at: number; spread: number },
  random: ReturnType<typeof createRandom>,
): void {
  const { pitch, seconds, velocity, start } = event
  const samples = instruments[instrument]({ hertz: toHertz(pitch), seconds, velocity, random })
  const place = at + spread * Math.max(-1, Math.min(1, (pitch - center) / 12))
  addSamples(bus, samples, start, level, place)
}

function addSamples(bus: Stereo, samples: Float32Array, start: number, gain: number, place: number): void {
  // Equal power, so that nothing is louder at the side.
  const angle = ((place + 1) * Math.PI) / 4
  const [left, right] = [gain * Math.cos(angle), gain * Math.sin(angle)]
  const first = Math.round(start * studioRate)
  const count = Math.min(samples.length, bus.left.length - first)
  for (let i = 0; i < count; i++) {
    const sample = samples[i] as number
    bus.left[first + i] = (bus.left[first + i] as number) + left * sample
    bus.right[first + i] = (bus.right[first + i] as number) + right * sample
  }
}

function addBus(from: Stereo, into: Stereo, gain: number): void {
  for (let i = 0; i < from.left.length; i++) {
    into.left[i] = (into.left[i] as number) + gain * (from.left[i] as number)
    into.right[i] = (into.right[i] as number) + gain * (from.right[i] as number)
  }
}

/** The last chord, once it was heard, dies away until the end. */
function fadeOut(sound: Sound, lastChordSeconds: number): void {
  for (const samples of sound.channels) {
    const rest = samples.length - Math.round(lastChordSeconds * studioRate)
    const fade = Math.round(Math.max(0.75 * rest, 0.2 * studioRate))
    for (let i = 0; i < Math.min(fade, samples.length); i++) {
      const at = samples.length - 1 - i
      samples[at] = (samples[at] as number) * (0.5 - 0.5 * Math.cos((Math.PI * i) / fade)) ** 1.5
    }
  }
}
