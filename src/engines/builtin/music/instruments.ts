// Instruments: each turns a note into samples, mono at 48 kHz, with its release.

import type { Random } from '../art/random.ts'
import { studioRate } from '../sound/sound.ts'
import { additive, frequencyModulation, pluck, subtractive } from './synthesis.ts'

/** A note to be played. */
export interface Note {
  readonly hertz: number
  /** How long the key is held, in seconds. */
  readonly seconds: number
  /** 0 … 1. */
  readonly velocity: number
  readonly random: Random
}

type Instrument = (note: Note) => Float32Array

export const instruments = {
  // Slow, wide and soft.
  pad: (note) =>
    subtractive(note, {
      oscillators: [saw(-9, 0.5), saw(0, 0.4), saw(8, 0.5), sine(-1200, 0.35)],
      filter: { base: 380, tracking: 1.6, rise: 900, fallSeconds: -1.5, resonance: 0.15 },
      envelope: { attack: 0.9, decay: 2, sustain: 0.8, release: 1.6 },
      vibrato: { hertz: 0.3, cents: 4, afterSeconds: 0 },
    }),
  strings: (note) =>
    subtractive(note, {
      oscillators: [saw(-7, 0.5), saw(5, 0.5), saw(12, 0.3)],
      filter: { base: 900, tracking: 2.2, rise: 1200 * note.velocity, fallSeconds: 1.2, resonance: 0.1 },
      envelope: { attack: 0.16, decay: 1, sustain: 0.85, release: 0.7 },
      vibrato: { hertz: 5.3, cents: 9, afterSeconds: 0.35 },
    }),
  brass: (note) =>
    subtractive(note, {
      oscillators: [saw(-5, 0.5), saw(4, 0.5), saw(-1200, 0.3)],
      filter: { base: 200, tracking: 1.5, rise: 2200 * note.velocity, fallSeconds: 0.7, resonance: 0.2 },
      envelope: { attack: 0.09, decay: 0.7, sustain: 0.75, release: 0.35 },
    }),
  supersaw: (note) =>
    subtractive(note, {
      oscillators: [saw(-18, 0.3), saw(-8, 0.35), saw(0, 0.4), saw(9, 0.35), saw(17, 0.3)],
      filter: { base: 500, tracking: 2, rise: 3200 * note.velocity, fallSeconds: 0.5, resonance: 0.25 },
      envelope: { attack: 0.01, decay: 0.6, sustain: 0.6, release: 0.25 },
    }),
  analogBass: (note) =>
    subtractive(note, {
      oscillators: [saw(-4, 0.45), saw(4, 0.45), sine(0, 0.7)],
      filter: { base: 120, tracking: 1.5, rise: 1300 * note.velocity, fallSeconds: 0.14, resonance: 0.35 },
      envelope: { attack: 0.004, decay: 0.25, sustain: 0.7, release: 0.07 },
    }),
  subBass: (note) =>
    subtractive(note, {
      oscillators: [sine(0, 0.9), { shape: 'triangle', cents: 0, level: 0.4 }],
      filter: { base: 300, tracking: 2, rise: 300, fallSeconds: 0.2, resonance: 0 },
      envelope: { attack: 0.008, decay: 0.5, sustain: 0.75, release: 0.1 },
    }),
  softLead: (note) =>
    subtractive(note, {
      oscillators: [{ shape: 'triangle', cents: 0, level: 0.8 }, saw(4, 0.15), saw(-6, 0.15)],
      filter: { base: 500, tracking: 3, rise: 900, fallSeconds: 0.4, resonance: 0.1 },
      envelope: { attack: 0.03, decay: 0.5, sustain: 0.75, release: 0.3 },
      vibrato: { hertz: 5.1, cents: 12, afterSeconds: 0.25 },
    }),
  sawLead: (note) =>
    subtractive(note, {
      oscillators: [saw(-6, 0.5), saw(6, 0.5), { shape: 'square', cents: -1200, level: 0.2 }],
      filter: { base: 700, tracking: 2.5, rise: 2500, fallSeconds: 0.3, resonance: 0.3 },
      envelope: { attack: 0.012, decay: 0.4, sustain: 0.7, release: 0.2 },
      vibrato: { hertz: 5.5, cents: 14, afterSeconds: 0.2 },
    }),
  accordion: (note) =>
    subtractive(note, {
      oscillators: [
        { shape: 'pulse', cents: -8, level: 0.35 },
        { shape: 'pulse', cents: 9, level: 0.35 },
        { shape: 'square', cents: -1200, level: 0.1 },
      ],
      filter: { base: 1200, tracking: 2.5, rise: 0, fallSeconds: 1, resonance: 0.05 },
      envelope: { attack: 0.05, decay: 0.3, sustain: 0.9, release: 0.09 },
    }),
  chipLead: (note) =>
    subtractive(note, {
      oscillators: [{ shape: 'pulse', cents: 0, level: 0.6 }],
      filter: null,
      envelope: { attack: 0.001, decay: 0.12, sustain: 0.65, release: 0.03 },
      vibrato: { hertz: 6, cents: 18, afterSeconds: 0.18 },
    }),
  chipArp: (note) =>
    subtractive(note, {
      oscillators: [{ shape: 'square', cents: 0, level: 0.5 }],
      filter: null,
      envelope: { attack: 0.001, decay: 0.09, sustain: 0.4, release: 0.02 },
    }),
  chipBass: (note) =>
    subtractive(note, {
      oscillators: [{ shape: 'triangle', cents: 0, level: 1 }],
      filter: null,
      envelope: { attack: 0.001, decay: 0.3, sustain: 0.9, release: 0.02 },
    }),
  // A bar struck by a felt hammer; a bright click that is gone at once.
  electricPiano: (note) =>
    frequencyModulation(note, {
      operators: [
        { carrier: 1, modulator: 1, index: 1.3 * note.velocity, indexFall: 0.7, level: 0.8, fall: 1.6 },
        { carrier: 1, modulator: 14, index: 0.35 * note.velocity, indexFall: 0.08, level: 0.25, fall: 0.5 },
      ],
      tremolo: { hertz: 4.6, depth: 0.14 },
      release: 0.16,
    }),
  bell: (note) =>
    frequencyModulation(note, {
      operators: [
        { carrier: 1, modulator: 3.5, index: 1.6 * note.velocity, indexFall: 0.9, level: 0.6, fall: 2.2 },
        { carrier: 2.01, modulator: 1, index: 0.3, indexFall: 1, level: 0.2, fall: 1.2 },
      ],
      tremolo: null,
      release: 1.4,
    }),
  housePiano: (note) => piano(note, 0.55, 0.12),
  piano: (note) => piano(note, 1, 0.3),
  vibraphone: (note) =>
    additive(note, {
      partials: [
        { ratio: 1, level: 0.8, fall: 2.2 },
        { ratio: 3.98, level: 0.16 * note.velocity, fall: 0.7 },
        { ratio: 9.9, level: 0.05 * note.velocity, fall: 0.12 },
      ],
      tremolo: { hertz: 5, depth: 0.22 },
      release: 0.5,
      knock: 0.02,
    }),
  uprightBass: (note) =>
    additive(note, {
      partials: [1, 2, 3, 4, 5, 6].map((ratio) => ({
        ratio: ratio * (1 + 0.0002 * ratio * ratio),
        level: [0.9, 0.55, 0.3, 0.14, 0.07, 0.04][ratio - 1] ?? 0,
        fall: 0.9 / ratio ** 0.7,
      })),
      tremolo: null,
      release: 0.08,
      knock: 0.1,
    }),
  harp: (note) => pluck(note, { brightness: 0.5, sustainSeconds: 2.2, release: 0.8 }),
  guitar: (note) => pluck(note, { brightness: 0.32, sustainSeconds: 1.6, release: 0.25 }),
} as const satisfies Record<string, Instrument>

/** The name of an instrument. */
export type InstrumentName = keyof typeof instruments

function saw(cents: number, level: number): { shape: 'saw'; cents: number; level: number } {
  return { shape: 'saw', cents, level }
}

function sine(cents: number, level: number): { shape: 'sine'; cents: number; level: number } {
  return { shape: 'sine', cents, level }
}

function piano(note: Note, length: number, release: number): Float32Array {
  // High strings are short and ring briefly; hard strokes have more of the upper partials.
  const count = Math.max(3, Math.min(12, Math.floor(studioRate / 5 / note.hertz)))
  const fall = length * 2.4 * (220 / note.hertz) ** 0.45
  return additive(note, {
    partials: Array.from({ length: count }, (_, i) => {
      const ratio = (i + 1) * Math.sqrt(1 + 0.0005 * (i + 1) ** 2)
      return { ratio, level: 0.62 * (0.42 + 0.26 * note.velocity) ** i, fall: fall / (1 + 0.35 * i) }
    }),
    tremolo: null,
    release,
    knock: 0.06,
  })
}
