// Lo-fi: dusty electric piano, lazy swung drums, a guitar, an old tape.

import type { Style } from '../style.ts'

export const lofi: Style = {
  bpm: [72, 86],
  beats: 4,
  swing: { place: 0.6, beats: 0.5 },
  bright: {
    scale: 'major',
    first: ['IVmaj7 iii7 ii7 Imaj7', 'Imaj7 vi7 ii7 V9', 'ii9 V13 Imaj9 vi7'],
    second: ['IVmaj7 iv7 iii7 vi7', 'vi7 ii9 Vsus4 Imaj7'],
    cadence: ['V13', 'Imaj9'],
  },
  dark: {
    scale: 'dorian',
    first: ['i9 iv7 i9 bVImaj7', 'iv9 bVII9 bIIImaj7 bVImaj7', 'bVImaj7 v7 i9 i9'],
    second: ['iv9 v7 bVImaj7 bVII', 'bVImaj7 bVII9 i9 iv7'],
    cadence: ['v7', 'i9'],
  },
  pad: null,
  chords: {
    instrument: 'electricPiano',
    level: 0.46,
    room: 0.25,
    center: 60,
    patterns: ['7-------5--5----', '7-----5---------', '7---------5-4---'],
    arpeggio: false,
    hold: 1.8,
  },
  bass: {
    instrument: 'subBass',
    level: 0.42,
    room: 0.02,
    center: 38,
    patterns: ['r-----5-r-----8-', 'r------rr---5---', 'r---------r-5-8-'],
    hold: 0.9,
  },
  lead: {
    instrument: 'guitar',
    level: 0.4,
    room: 0.35,
    center: 70,
    rhythms: ['--5-4-6-----4---5-4-----------4-', '6---4-5-4-------5-----4---------'],
    hold: 1.2,
  },
  drums: {
    kit: 'soft',
    level: 0.8,
    calm: { hat: '3-2-3-2-3-2-3-2-', kick: '8---------7-----' },
    full: { kick: '8------5--7-----', snare: '----7-------7--2', hat: '4-2-4-214-2-4-2-', rim: '----------3-----' },
    fill: { snare: '----7--3----7-46', kick: '8------5--7-----', openHat: '--------------4-' },
  },
  room: { seconds: 1.6, darkness: 0.5, gain: 0.45 },
  echoBeats: 0.75,
  duck: 0.3,
  effect: 'tape',
  drive: 1.2,
}
