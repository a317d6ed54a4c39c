// Ambient: slow chords that float, a harp, bells, no drums.

import type { Style } from '../style.ts'

export const ambient: Style = {
  bpm: [60, 74],
  beats: 4,
  swing: { place: 0.5, beats: 1 },
  bright: {
    scale: 'lydian',
    first: ['Imaj9 II Imaj9 vi7', 'Imaj9 iii7 IVmaj9 Vsus4'],
    second: ['IVmaj9 Imaj9 ii7 Vsus4', 'vi7 IVmaj9 Imaj9 Vsus4'],
    cadence: ['IVmaj7', 'I'],
  },
  dark: {
    scale: 'dorian',
    first: ['iadd9 bVIImaj7 IV iadd9', 'i7 IV bIIImaj7 bVII'],
    second: ['bVImaj7 bIIImaj7 bVII i7', 'bIIImaj7 bVII IV i7'],
    cadence: ['IV', 'i'],
  },
  pad: { instrument: 'pad', level: 0.5, room: 0.7, center: 60 },
  chords: {
    instrument: 'harp',
    level: 0.34,
    room: 0.8,
    center: 67,
    patterns: ['5---4---5---4---', '5-----4-----4---', '4---4-5---4---4-'],
    arpeggio: true,
    hold: 3,
  },
  bass: { instrument: 'pad', level: 0.34, room: 0.2, center: 41, patterns: ['r---------------'], hold: 3.9 },
  lead: {
    instrument: 'bell',
    level: 0.26,
    room: 0.9,
    center: 77,
    rhythms: ['6-------4-------5-----------4---', '------5-----4---------5---------'],
    hold: 3,
  },
  drums: null,
  room: { seconds: 5.5, darkness: 0.35, gain: 0.75 },
  echoBeats: 1.5,
  duck: 0,
  effect: 'chorus',
  drive: 0,
}
