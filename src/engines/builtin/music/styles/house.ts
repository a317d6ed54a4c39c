// House: four on the floor, off-beat bass, piano stabs that duck under the kick.

import type { Style } from '../style.ts'

export const house: Style = {
  bpm: [118, 126],
  beats: 4,
  swing: { place: 0.54, beats: 0.5 },
  bright: {
    scale: 'major',
    first: ['I V vi IV', 'IVmaj7 V iii7 vi7', 'vi IV I V'],
    second: ['IV V vi vi', 'ii7 IV vi V'],
    cadence: ['V', 'I'],
  },
  dark: {
    scale: 'minor',
    first: ['i7 bVImaj7 bIII bVII', 'i9 iv7 v7 i9', 'i bVII bVI bVII'],
    second: ['bVI bVII i7 i7', 'iv7 v7 i7 bVII'],
    cadence: ['V', 'i'],
  },
  pad: { instrument: 'strings', level: 0.2, room: 0.5, center: 67 },
  chords: {
    instrument: 'housePiano',
    level: 0.5,
    room: 0.3,
    center: 62,
    patterns: ['8--7--7---8--7--', '--8--7----8--7--', '8---7-7--7--8---'],
    arpeggio: false,
    hold: 0.6,
  },
  bass: {
    instrument: 'analogBass',
    level: 0.52,
    room: 0.02,
    center: 38,
    patterns: ['--r---r---r---r-', '--r-r-8---r-r-5-', 'r--r--r-8-r--r--'],
    hold: 0.4,
  },
  lead: {
    instrument: 'sawLead',
    level: 0.2,
    room: 0.4,
    center: 74,
    rhythms: ['6--5--4---6--5--7--5--4---------', '6-5---6-4---5---6-5---4-----4---'],
    hold: 0.6,
  },
  drums: {
    kit: 'electronic',
    level: 0.9,
    calm: { kick: '9---9---9---9---', hat: '--5---5---5---5-' },
    full: {
      kick: '9---9---9---9---',
      clap: '----7-------7---',
      openHat: '--5---5---5---5-',
      hat: '3-3-3-3-3-3-3-33',
      shaker: '2323232323232323',
    },
    fill: { kick: '9---9---9-------', clap: '----7-------7-67', snare: '--------4-5-6678', hat: '3-3-3-3-3-3-3-33' },
  },
  room: { seconds: 1.8, darkness: 0.3, gain: 0.4 },
  echoBeats: 0.75,
  duck: 0.65,
  effect: 'none',
  drive: 1.3,
}
