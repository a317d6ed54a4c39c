// Plays the notes of a piece and puts the parts together: levels, places, room, echoes, and the last polish.

import { setImmediate } from 'node:timers/promises'
import { hashText } from '../../art/random.ts'
import { applyFilters, highPass } from '../../sound/filter.ts'
import { measureLoudness } from '../../sound/loudness.ts'
import { master } from '../../sound/master.ts'
import { fromDecibels, type Sound, studioRate } from '../../sound/sound.ts'
import { bodies, instruments } from '../band/instruments.ts'
import { createDrum, type Drum, type DrumName, swellSeconds } from '../band/kits.ts'
import type { Event, Piece, Stroke } from '../score/compose.ts'
import type { SectionKind } from '../score/form.ts'
import { toHertz } from '../score/theory.ts'
import type { PartStyle, Style } from '../style.ts'
import { styles } from '../styles.ts'
import { addEcho, chorus, compress, duck, fade, saturate, tremolo } from './effects.ts'
import { addReverb } from './room.ts'
import { addScaled, addTo, createStereo, type Stereo } from './stereo.ts'
import { age } from './tape.ts'

const loudness = -16
const ceiling = -1.5
/** Loudness of the loudest parts before they are put together, in LUFS of their middle. */
const partLoudness = -20
const eventsPerYield = 12
/** Notes that are not much longer are kept and used again. */
const longestKept = 1.2

const drumPlaces: Partial<Record<DrumName, number>> = {
  hat: 0.3,
  openHat: 0.3,
  ride: -0.35,
  shaker: -0.4,
  tambourine: 0.45,
  rim: -0.2,
  tom: 0.3,
  lowTom: -0.25,
  conga: -0.35,
  crash: 0.15,
}

/** Where the band is small it may be nearer, so that its entrance is one and not a fright; choruses stand out. */
const faders: Record<SectionKind, number> = {
  intro: 1.5,
  verse: -1.2,
  build: -0.5,
  chorus: 0.4,
  bridge: -0.6,
  break: 1,
  outro: 0.5,
  ending: -1,
}

/** Where everything comes together. */
interface Desk {
  readonly dry: Stereo
  readonly room: Stereo
  readonly echo: Stereo
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
  const desk: Desk = { dry: createStereo(frames), room: createStereo(frames), echo: createStereo(frames) }
  const kicks = piece.strokes.filter(({ drum }) => drum === 'kick').map(({ start }) => start)
  let played = 0
  for (const [number, part] of piece.parts.entries()) {
    const events = piece.events.filter((event) => event.part === number)
    if (events.length === 0) continue
    const bus = createStereo(frames)
    const play = createPlayer(part, hashText(`${number} ${seed}`))
    for (const [i, event] of events.entries()) {
      play(bus, event)
      if (i % eventsPerYield === 0) {
        onProgress((0.55 * (played + i)) / piece.events.length)
        await setImmediate()
      }
    }
    played += events.length
    finishPart(bus, part)
    if (style.duck > 0) duck(bus, kicks, isTune(part) ? style.duck / 2 : style.duck, Math.min(0.4, 42 / piece.bpm))
    send(bus, desk, part)
    await setImmediate()
  }
  onProgress(0.58)
  if (style.drums) {
    const bus = playDrums(piece.strokes, style.drums.kit, frames, seed)
    scale(bus, gainFor(bus, style.drums.level))
    addTo(desk.dry, bus)
    addScaled(desk.room, bus, style.drums.room)
  }
  onProgress(0.62)
  await setImmediate()
  const echoSeconds = (style.echo.beats * 60) / piece.bpm
  addEcho(desk.echo, desk.dry, desk.room, echoSeconds, style.echo.feedback)
  onProgress(0.68)
  addReverb(desk.room, desk.dry, style.room)
  onProgress(0.8)
  await setImmediate()
  return finish(desk.dry, style, piece, seed, onProgress)
}

/** Everything on the desk together, as loud as music is. */
async function finish(
  whole: Stereo,
  style: Style,
  piece: Piece,
  seed: string,
  onProgress: (fraction: number) => void,
): Promise<Sound> {
  compress(whole)
  fade(
    whole,
    piece.sections.map(({ kind, start }) => ({ start, decibels: faders[kind] })),
  )
  if (style.isTape) age(whole, hashText(`dust ${seed}`))
  if (style.drive > 0) saturate(whole, style.drive)
  onProgress(0.87)
  await setImmediate()
  const rumble = [highPass(studioRate, 28)]
  const channels = [applyFilters(whole.left, rumble), applyFilters(whole.right, rumble)]
  fadeOut(channels, piece.endSeconds)
  const sound = { sampleRate: studioRate, channels }
  onProgress(0.92)
  await setImmediate()
  master(sound, { loudness, ceiling })
  onProgress(1)
  return sound
}

/** Plays notes of a part into its bus. */
function createPlayer(part: PartStyle, seed: number): (bus: Stereo, event: Event) => void {
  const kept = new Map<string, Float32Array>()
  const { instrument, center, pan = 0, width = 0 } = part
  let count = 0
  return (bus, { pitch, seconds, velocity, start }) => {
    // Close enough to be the same note again; three of each, so that it does not sound so.
    const [length, touch] = [Math.ceil(seconds * 50) / 50, Math.ceil(velocity * 10) / 10]
    const take = count++ % 3
    const name = `${pitch} ${length} ${touch} ${take}`
    const note = { hertz: toHertz(pitch), seconds: length, velocity: touch, seed: hashText(name, seed) }
    const samples = kept.get(name) ?? instruments[instrument](note)
    if (length < longestKept) kept.set(name, samples)
    const place = pan + width * Math.max(-1, Math.min(1, (pitch - center) / 10))
    addSamples(bus, samples, start, velocity / touch, Math.max(-1, Math.min(1, place)))
  }
}

/** Colour, movement and level of a part. */
function finishPart(bus: Stereo, part: PartStyle): void {
  if (part.effect === 'chorus') chorus(bus)
  if (part.effect === 'tremolo') tremolo(bus)
  if (part.effect === 'drive') {
    scale(bus, gainFor(bus, 4))
    saturate(bus, 3)
  }
  // What is not the bass leaves the lowest octave to it.
  const filters = [...(part.role === 'bass' ? [] : [highPass(studioRate, 90)]), ...(bodies[part.instrument] ?? [])]
  if (filters.length > 0) {
    bus.left.set(applyFilters(bus.left, filters))
    bus.right.set(applyFilters(bus.right, filters))
  }
  scale(bus, gainFor(bus, part.level))
}

function isTune({ role }: PartStyle): boolean {
  return role === 'lead' || role === 'answer'
}

function send(bus: Stereo, { dry, room, echo }: Desk, part: PartStyle): void {
  addTo(dry, bus)
  if (part.room) addScaled(room, bus, part.room)
  if (part.echo) addScaled(echo, bus, part.echo)
}

/** The factor that brings a part to its level: how loud an instrument happens to be made does not matter. */
function gainFor(bus: Stereo, level: number): number {
  const middle = bus.left.map((left, i) => left + (bus.right[i] as number))
  const found = measureLoudness({ sampleRate: studioRate, channels: [middle] })
  return found <= -69 ? 1 : fromDecibels(partLoudness + level - found)
}

function playDrums(
  strokes: readonly Stroke[],
  kit: Parameters<typeof createDrum>[0],
  frames: number,
  seed: string,
): Stereo {
  const bus = createStereo(frames)
  const drums = new Map<DrumName, Drum>()
  for (const [i, { drum: name, start, velocity }] of strokes.entries()) {
    const drum = drums.get(name) ?? createDrum(kit, name, seed)
    drums.set(name, drum)
    const takes = velocity < 0.4 ? drum.soft : drum.firm
    const from = name === 'swell' ? start - swellSeconds : start
    if (from >= 0)
      addSamples(bus, takes[i % takes.length] as Float32Array, from, velocity ** 1.4, drumPlaces[name] ?? 0)
  }
  return bus
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

function scale({ left, right }: Stereo, gain: number): void {
  for (let i = 0; i < left.length; i++) {
    left[i] = (left[i] as number) * gain
    right[i] = (right[i] as number) * gain
  }
}

/** The last chord, once it was heard, dies away until the end. */
function fadeOut(channels: readonly Float32Array[], lastChordSeconds: number): void {
  for (const samples of channels) {
    const rest = samples.length - Math.round(lastChordSeconds * studioRate)
    const fade = Math.round(Math.max(0.75 * rest, 0.2 * studioRate))
    for (let i = 0; i < Math.min(fade, samples.length); i++) {
      const at = samples.length - 1 - i
      samples[at] = (samples[at] as number) * (0.5 - 0.5 * Math.cos((Math.PI * i) / fade)) ** 1.5
    }
  }
}
