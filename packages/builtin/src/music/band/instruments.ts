// The instruments by name, and the bodies that colour some of them.

import { type Biquad, highPass, peaking } from '../../sound/filter.ts'
import { studioRate } from '../../sound/sound.ts'
import type { Instrument, Note } from './note.ts'
import { modulate, pluck, ring } from './struck.ts'
import { type Oscillator, playVoice } from './voice.ts'

// Levels of harmonics, the fundamental first.
const sine = [1]
const flute = [1, 0.32, 0.1, 0.035, 0.012]
const clarinet = [1, 0.04, 0.55, 0.05, 0.32, 0.04, 0.16, 0.02, 0.07]
const fullOrgan = [1, 0.8, 0.62, 0.42, 0, 0.3, 0, 0.25]
const softOrgan = [1, 0.5, 0.12, 0.16]
const whistle = [1, 0.06]

export const instruments = {
  // Slow, wide and soft; the filter breathes.
  pad: (note) =>
    playVoice(note, {
      oscillators: [saw(-8, 0.4), saw(7, 0.4), table(sine, 0, 0.45)],
      filter: {
        base: 420,
        tracking: 1.8,
        rise: 1200,
        fallSeconds: -1.5,
        resonance: 0.2,
        sway: { hertz: 0.13, depth: 0.35 },
      },
      envelope: { attack: 0.9, decay: 2, sustain: 0.8, release: 1.6 },
      vibrato: { hertz: 0.3, cents: 4, afterSeconds: 0 },
    }),
  warmPad: (note) =>
    playVoice(note, {
      oscillators: [pulse(-6, 0.3, 0.38), saw(6, 0.4)],
      filter: {
        base: 420,
        tracking: 1.6,
        rise: 500,
        fallSeconds: 1.5,
        resonance: 0.25,
        sway: { hertz: 0.21, depth: 0.25 },
      },
      envelope: { attack: 0.25, decay: 1, sustain: 0.8, release: 0.7 },
    }),
  choir: (note) =>
    playVoice(note, {
      oscillators: [saw(-10, 0.3), saw(9, 0.3), { shape: 'noise', cents: 0, level: 0.03 }],
      filter: { base: 700, tracking: 0.6, rise: 300, fallSeconds: -0.8, resonance: 0.35 },
      envelope: { attack: 0.4, decay: 1, sustain: 0.9, release: 0.9 },
      vibrato: { hertz: 4.7, cents: 10, afterSeconds: 0.2 },
    }),
  strings: (note) =>
    playVoice(note, {
      oscillators: [saw(-7, 0.45), saw(6, 0.45)],
      filter: { base: 1500, tracking: 2.6, rise: 1800 * note.velocity, fallSeconds: 1.2, resonance: 0.1 },
      envelope: { attack: 0.16, decay: 1, sustain: 0.85, release: 0.6 },
      vibrato: { hertz: 5.3, cents: 9, afterSeconds: 0.3 },
    }),
  // Bows that bounce.
  spiccato: (note) =>
    playVoice(note, {
      oscillators: [saw(-5, 0.45), saw(6, 0.45), { shape: 'noise', cents: 0, level: 0.08 }],
      filter: { base: 900, tracking: 2.6, rise: 4200 * note.velocity, fallSeconds: 0.09, resonance: 0.1 },
      envelope: { attack: 0.012, decay: 0.22, sustain: 0.12, release: 0.14 },
    }),
  violin: (note) =>
    playVoice(note, {
      oscillators: [saw(0, 0.8), { shape: 'noise', cents: 0, level: 0.02 }],
      filter: { base: 1800, tracking: 3, rise: 2200 * note.velocity, fallSeconds: -0.15, resonance: 0.15 },
      envelope: { attack: 0.07, decay: 0.6, sustain: 0.85, release: 0.22 },
      vibrato: { hertz: 5.8, cents: 17, afterSeconds: 0.18 },
      scoop: 12,
    }),
  cello: (note) =>
    playVoice(note, {
      oscillators: [saw(0, 0.8), { shape: 'noise', cents: 0, level: 0.015 }],
      filter: { base: 900, tracking: 4, rise: 1200 * note.velocity, fallSeconds: -0.2, resonance: 0.15 },
      envelope: { attack: 0.09, decay: 0.8, sustain: 0.85, release: 0.3 },
      vibrato: { hertz: 5.2, cents: 12, afterSeconds: 0.25 },
    }),
  brass: (note) =>
    playVoice(note, {
      oscillators: [saw(-5, 0.5), saw(4, 0.5)],
      filter: { base: 350, tracking: 2, rise: 3200 * note.velocity, fallSeconds: 0.7, resonance: 0.2 },
      envelope: { attack: 0.07, decay: 0.7, sustain: 0.75, release: 0.3 },
      scoop: 25,
    }),
  // Short and together, as a section of horns.
  horns: (note) =>
    playVoice(note, {
      oscillators: [saw(-6, 0.45), saw(5, 0.45), pulse(0, 0.2, 0.3)],
      filter: { base: 300, tracking: 1.8, rise: 3000 * note.velocity, fallSeconds: 0.2, resonance: 0.2 },
      envelope: { attack: 0.025, decay: 0.3, sustain: 0.6, release: 0.12 },
      scoop: 40,
    }),
  flute: (note) =>
    playVoice(note, {
      oscillators: [table(flute, 0, 0.8), { shape: 'noise', cents: 0, level: 0.05 }],
      filter: { base: 600, tracking: 3, rise: 1500, fallSeconds: 0.05, resonance: 0.05 },
      envelope: { attack: 0.05, decay: 0.4, sustain: 0.85, release: 0.13 },
      vibrato: { hertz: 5, cents: 11, afterSeconds: 0.3 },
      scoop: 18,
    }),
  clarinet: (note) =>
    playVoice(note, {
      oscillators: [table(clarinet, 0, 0.7), { shape: 'noise', cents: 0, level: 0.015 }],
      filter: { base: 1500, tracking: 4, rise: 600 * note.velocity, fallSeconds: 0.3, resonance: 0.05 },
      envelope: { attack: 0.04, decay: 0.4, sustain: 0.9, release: 0.1 },
      vibrato: { hertz: 4.8, cents: 5, afterSeconds: 0.4 },
    }),
  whistle: (note) =>
    playVoice(note, {
      oscillators: [table(whistle, 0, 0.9), { shape: 'noise', cents: 0, level: 0.03 }],
      filter: { base: 800, tracking: 2.5, rise: 0, fallSeconds: 1, resonance: 0.1 },
      envelope: { attack: 0.03, decay: 0.3, sustain: 0.9, release: 0.1 },
      vibrato: { hertz: 5.4, cents: 14, afterSeconds: 0.15 },
      scoop: 60,
    }),
  organ: (note) =>
    playVoice(note, {
      oscillators: [table(fullOrgan, 0, 0.3), table(fullOrgan, 3, 0.15), { shape: 'noise', cents: 0, level: 0.004 }],
      filter: { base: 1800, tracking: 3, rise: 0, fallSeconds: 1, resonance: 0 },
      envelope: { attack: 0.006, decay: 0.1, sustain: 0.95, release: 0.06 },
      vibrato: { hertz: 6.4, cents: 7, afterSeconds: 0 },
    }),
  softOrgan: (note) =>
    playVoice(note, {
      oscillators: [table(softOrgan, 0, 0.5)],
      filter: null,
      envelope: { attack: 0.008, decay: 0.1, sustain: 0.95, release: 0.07 },
      vibrato: { hertz: 5.8, cents: 6, afterSeconds: 0 },
    }),
  accordion: (note) =>
    playVoice(note, {
      oscillators: [pulse(-8, 0.35, 0.25), pulse(9, 0.35, 0.25)],
      filter: { base: 2000, tracking: 3.5, rise: 0, fallSeconds: 1, resonance: 0.05 },
      envelope: { attack: 0.05, decay: 0.3, sustain: 0.9, release: 0.09 },
    }),
  supersaw: (note) =>
    playVoice(note, {
      oscillators: [saw(-14, 0.3), saw(-5, 0.35), saw(6, 0.35), saw(15, 0.3)],
      filter: { base: 500, tracking: 2, rise: 3200 * note.velocity, fallSeconds: 0.5, resonance: 0.25 },
      envelope: { attack: 0.01, decay: 0.6, sustain: 0.6, release: 0.25 },
    }),
  softLead: (note) =>
    playVoice(note, {
      oscillators: [{ shape: 'triangle', cents: 0, level: 0.8 }, saw(4, 0.25)],
      filter: { base: 500, tracking: 3, rise: 900, fallSeconds: 0.4, resonance: 0.1 },
      envelope: { attack: 0.03, decay: 0.5, sustain: 0.75, release: 0.3 },
      vibrato: { hertz: 5.1, cents: 12, afterSeconds: 0.25 },
    }),
  sawLead: (note) =>
    playVoice(note, {
      oscillators: [saw(-6, 0.5), saw(6, 0.5), pulse(-1200, 0.2, 0.5)],
      filter: { base: 700, tracking: 2.5, rise: 2500, fallSeconds: 0.3, resonance: 0.3 },
      envelope: { attack: 0.012, decay: 0.4, sustain: 0.7, release: 0.2 },
      vibrato: { hertz: 5.5, cents: 14, afterSeconds: 0.2 },
      scoop: 30,
    }),
  stab: (note) =>
    playVoice(note, {
      oscillators: [saw(-9, 0.4), saw(8, 0.4), pulse(0, 0.25, 0.5)],
      filter: { base: 300, tracking: 1.5, rise: 4200 * note.velocity, fallSeconds: 0.09, resonance: 0.4 },
      envelope: { attack: 0.003, decay: 0.35, sustain: 0.25, release: 0.16 },
    }),
  sequence: (note) =>
    playVoice(note, {
      oscillators: [saw(0, 0.5), pulse(7, 0.4, 0.4)],
      filter: { base: 260, tracking: 1.6, rise: 2600 * note.velocity, fallSeconds: 0.11, resonance: 0.55 },
      envelope: { attack: 0.003, decay: 0.25, sustain: 0.35, release: 0.12 },
    }),
  analogBass: (note) =>
    playVoice(note, {
      oscillators: [saw(-4, 0.4), saw(4, 0.4), table(sine, 0, 0.6)],
      filter: { base: 120, tracking: 1.5, rise: 1300 * note.velocity, fallSeconds: 0.14, resonance: 0.35 },
      envelope: { attack: 0.004, decay: 0.25, sustain: 0.7, release: 0.07 },
    }),
  // Two saws that beat against each other, over a sine.
  reese: (note) =>
    playVoice(note, {
      oscillators: [saw(-17, 0.4), saw(16, 0.4), table(sine, 0, 0.9)],
      filter: {
        base: 260,
        tracking: 2.5,
        rise: 500 * note.velocity,
        fallSeconds: 0.4,
        resonance: 0.3,
        sway: { hertz: 0.7, depth: 0.45 },
      },
      envelope: { attack: 0.006, decay: 0.5, sustain: 0.85, release: 0.09 },
    }),
  subBass: (note) =>
    playVoice(note, {
      oscillators: [table(sine, 0, 0.9), { shape: 'triangle', cents: 0, level: 0.4 }],
      filter: { base: 300, tracking: 2, rise: 300, fallSeconds: 0.2, resonance: 0 },
      envelope: { attack: 0.008, decay: 0.5, sustain: 0.75, release: 0.1 },
    }),
  chipLead: (note) =>
    playVoice(note, {
      oscillators: [pulse(0, 0.6, 0.25)],
      filter: null,
      envelope: { attack: 0.001, decay: 0.12, sustain: 0.65, release: 0.03 },
      vibrato: { hertz: 6, cents: 18, afterSeconds: 0.18 },
    }),
  chipArp: (note) =>
    playVoice(note, {
      oscillators: [pulse(0, 0.5, 0.5)],
      filter: null,
      envelope: { attack: 0.001, decay: 0.09, sustain: 0.4, release: 0.02 },
    }),
  chipBass: (note) =>
    playVoice(note, {
      oscillators: [{ shape: 'triangle', cents: 0, level: 1 }],
      filter: null,
      envelope: { attack: 0.001, decay: 0.3, sustain: 0.9, release: 0.02 },
    }),
  // A bar struck by a felt hammer, and the tine's click that is gone at once.
  electricPiano: (note) =>
    modulate(
      note,
      [
        { carrier: 1, modulator: 1, index: 0.4 + 1.5 * note.velocity ** 2, indexFall: 0.6, level: 0.8, fall: 1.7 },
        { carrier: 1, modulator: 14, index: 0.4 * note.velocity, indexFall: 0.07, level: 0.22, fall: 0.4 },
      ],
      0.18,
    ),
  clav: (note) =>
    modulate(
      note,
      [
        { carrier: 1, modulator: 3, index: 1.2 + note.velocity, indexFall: 0.12, level: 0.6, fall: 0.5 },
        { carrier: 2, modulator: 5, index: 1.2 * note.velocity, indexFall: 0.06, level: 0.35, fall: 0.25 },
      ],
      0.05,
    ),
  bell: (note) =>
    modulate(
      note,
      [
        { carrier: 1, modulator: 3.5, index: 1.6 * note.velocity, indexFall: 0.9, level: 0.6, fall: 2.2 },
        { carrier: 2.01, modulator: 1, index: 0.3, indexFall: 1, level: 0.2, fall: 1.2 },
      ],
      1.4,
    ),
  piano: (note) => piano(note, 1, 0.3),
  housePiano: (note) => piano(note, 0.6, 0.14),
  feltPiano: (note) => piano({ ...note, velocity: 0.55 * note.velocity }, 0.85, 0.4),
  vibraphone: (note) =>
    ring(
      note,
      [
        { ratio: 1, level: 0.8, fall: 2.2 },
        { ratio: 3.98, level: 0.16 * note.velocity, fall: 0.7 },
        { ratio: 9.9, level: 0.05 * note.velocity, fall: 0.12 },
      ],
      0.5,
      0.02,
    ),
  marimba: (note) =>
    ring(
      note,
      [
        { ratio: 1, level: 0.9, fall: 0.34 },
        { ratio: 3.93, level: 0.25 * note.velocity, fall: 0.1 },
        { ratio: 9.6, level: 0.08 * note.velocity, fall: 0.03 },
      ],
      0.3,
      0.08,
    ),
  glockenspiel: (note) =>
    ring(
      note,
      [
        { ratio: 1, level: 0.7, fall: 1.3 },
        { ratio: 2.76, level: 0.28 * note.velocity, fall: 0.5 },
        { ratio: 5.4, level: 0.14 * note.velocity, fall: 0.2 },
      ],
      0.9,
      0.03,
    ),
  kalimba: (note) =>
    ring(
      note,
      [
        { ratio: 1, level: 0.85, fall: 0.7 },
        { ratio: 2.9, level: 0.1 * note.velocity, fall: 0.12 },
        { ratio: 6.2, level: 0.12 * note.velocity, fall: 0.05 },
      ],
      0.4,
      0.05,
    ),
  uprightBass: (note) =>
    ring(
      note,
      [1, 2, 3, 4, 5, 6].map((ratio) => ({
        ratio: ratio * (1 + 0.0002 * ratio * ratio),
        level: [0.9, 0.6, 0.34, 0.17, 0.09, 0.05][ratio - 1] ?? 0,
        fall: 0.9 / ratio ** 0.7,
      })),
      0.08,
      0.14,
    ),
  fingerBass: (note) => pluck(note, { brightness: 0.45, seconds: 3.2, edgeSeconds: 0.6, place: 0.23, release: 0.07 }),
  slapBass: (note) => pluck(note, { brightness: 1.6, seconds: 2.6, edgeSeconds: 1.0, place: 0.1, release: 0.05 }),
  nylonGuitar: (note) => pluck(note, { brightness: 0.6, seconds: 3, edgeSeconds: 0.5, place: 0.31, release: 0.16 }),
  steelGuitar: (note) => pluck(note, { brightness: 1.6, seconds: 4.5, edgeSeconds: 1.3, place: 0.17, release: 0.22 }),
  electricGuitar: (note) =>
    pluck(note, { brightness: 1.2, seconds: 3.5, edgeSeconds: 1.0, place: 0.12, release: 0.08 }),
  harp: (note) => pluck(note, { brightness: 0.9, seconds: 3.4, edgeSeconds: 0.7, place: 0.4, release: 0.9 }),
  mandolin: (note) => pluck(note, { brightness: 1.8, seconds: 1.8, edgeSeconds: 0.6, place: 0.15, release: 0.14 }),
} as const satisfies Record<string, Instrument>

/** The name of an instrument. */
export type InstrumentName = keyof typeof instruments

// The box behind the strings, and what a pickup leaves.
const guitarBody = [
  highPass(studioRate, 70),
  peaking(studioRate, 105, 5, 2.5),
  peaking(studioRate, 205, 4, 2.5),
  peaking(studioRate, 2600, 2, 1),
]
const fiddleBody = [
  highPass(studioRate, 180),
  peaking(studioRate, 290, 4, 3),
  peaking(studioRate, 480, 4, 3),
  peaking(studioRate, 2700, 6, 1.2),
]
const singers = [highPass(studioRate, 150), peaking(studioRate, 640, 7, 3), peaking(studioRate, 1150, 6, 4)]

/** What a body or a throat does to all notes of an instrument together. */
export const bodies: Partial<Record<InstrumentName, readonly Biquad[]>> = {
  nylonGuitar: guitarBody,
  steelGuitar: guitarBody,
  mandolin: guitarBody,
  violin: fiddleBody,
  cello: [peaking(studioRate, 220, 4, 2.5), peaking(studioRate, 650, 3, 2), peaking(studioRate, 2200, 3, 1.5)],
  electricGuitar: [highPass(studioRate, 110), peaking(studioRate, 900, 3, 1), peaking(studioRate, 2400, 4, 1.2)],
  choir: singers,
  uprightBass: [peaking(studioRate, 95, 3, 1.5), peaking(studioRate, 700, 3, 1)],
}

function saw(cents: number, level: number): Oscillator {
  return { shape: 'saw', cents, level }
}

function pulse(cents: number, level: number, duty: number): Oscillator {
  return { shape: 'pulse', cents, level, duty }
}

function table(shape: readonly number[], cents: number, level: number): Oscillator {
  return { shape, cents, level }
}

/** Two or three strings for each note, not quite in tune; the hammer strikes an eighth of the way along. */
function piano(note: Note, length: number, release: number): Float32Array {
  // High strings are short and ring briefly; hard strokes have more of the upper partials.
  const count = Math.max(3, Math.min(14, Math.floor(studioRate / 5 / note.hertz)))
  const fall = length * 2.4 * (220 / note.hertz) ** 0.45
  const edge = 0.5 + 0.26 * note.velocity
  const partials = Array.from({ length: count }, (_, i) => {
    const n = i + 1
    const ratio = n * Math.sqrt(1 + 0.0004 * n * n)
    const struck = 0.35 + 0.65 * Math.abs(Math.sin((Math.PI * n) / 8))
    return { ratio, level: 0.8 * edge ** i * struck, fall: fall / (1 + 0.35 * i) }
  })
  // The other string of the lower partials: they beat, and ring on after the first has gone.
  const others = partials.slice(0, 4).map(({ ratio, level, fall }) => ({
    ratio: ratio * 1.0006,
    level: 0.45 * level,
    fall: 1.7 * fall,
  }))
  return ring(note, [...partials, ...others], release, 0.07)
}
