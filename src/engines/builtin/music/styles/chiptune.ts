// Chiptune: square waves, fast arpeggios, drums of coarse noise.

import type { Style } from '../style.ts'

export const chiptune: Style = {
  bpm: [132, 158],
  beats: 4,
  swing: { place: 0.5, beats: 1 },
  bright: {
    scale: 'major',
    first: ['I V vi IV', 'I IV I V', 'I bVII IV V'],
    second: ['vi IV I V', 'IV V iii vi', 'ii V I vi'],
    cadence: ['V', 'I'],
  },
  dark: {
    scale: 'minor',
    first: ['i bVI bVII i', 'i bVII bVI V', 'i iv bVII bIII'],
    second: ['bVI bVII i i', 'iv bVII bIII bVI'],
    cadence: ['V', 'i'],
  },
  pad: null,
  chords: {
    instrument: 'chipArp',
    level: 0.3,
    room: 0.05,
    center: 67,
    patterns: ['5555555555555555', '5-555-555-555-55'],
    arpeggio: true,
    hold: 0.22,
  },
  bass: {
    instrument: 'chipBass',
    level: 0.34,
    room: 0,
    center: 43,
    patterns: ['r-r-8-r-r-r-8-r-', 'r--r--8-r--r--5-', 'r-8-r-8-r-8-5-8-'],
    hold: 0.42,
  },
  lead: {
    instrument: 'chipLead',
    level: 0.3,
    room: 0.08,
    center: 79,
    rhythms: [
      '6-6---5-6-4-----6-6---5-7-------',
      '6---5-4-5---6---7-5-6-4---------',
      '6-4-5-6-----4---5-4-3-5---------',
    ],
    hold: 0.7,
  },
  drums: {
    kit: 'chip',
    level: 0.5,
    calm: { kick: '8-------8-------', hat: '--4---4---4---4-' },
    full: { kick: '8-----8-8-------', snare: '----8-------8---', hat: '5-4-5-4-5-4-5-44' },
    fill: { kick: '8-----8-8-------', snare: '----8---6-6-8888' },
  },
  room: { seconds: 0.5, darkness: 0.2, gain: 0.15 },
  echoBeats: 0.75,
  duck: 0,
  effect: 'none',
  drive: 0,
}
