// Waltz: three beats, piano and strings, an accordion on top.

import type { Style } from '../style.ts'

export const waltz: Style = {
  bpm: [126, 168],
  beats: 3,
  swing: { place: 0.5, beats: 1 },
  bright: {
    scale: 'major',
    first: ['I I V7 I', 'I vi ii V7', 'I IV V7 I'],
    second: ['IV I V7 I', 'vi iii IV V7', 'ii V7 I vi'],
    cadence: ['V7', 'I'],
  },
  dark: {
    scale: 'minor',
    first: ['i iv V7 i', 'i bVI iv V7', 'i V7 i V7'],
    second: ['iv i V7 i', 'bIII bVII i V7', 'bVI bIII iv V7'],
    cadence: ['V7', 'i'],
  },
  pad: { instrument: 'strings', level: 0.2, room: 0.5, center: 66 },
  chords: {
    instrument: 'piano',
    level: 0.42,
    room: 0.3,
    center: 62,
    patterns: ['----6---5---', '----6---6---'],
    arpeggio: false,
    hold: 0.7,
  },
  bass: {
    instrument: 'piano',
    level: 0.62,
    room: 0.25,
    center: 41,
    patterns: ['r-----------', '5-----------'],
    hold: 1.2,
  },
  lead: {
    instrument: 'accordion',
    level: 0.3,
    room: 0.35,
    center: 74,
    rhythms: ['7-------5---6-----------', '6---5---6---7-------5---', '7-----5-6---6-------5---'],
    hold: 1.5,
  },
  drums: {
    kit: 'acoustic',
    level: 0.35,
    calm: {},
    full: { kick: '6-----------', brush: '----5---5---' },
    fill: null,
  },
  room: { seconds: 2.2, darkness: 0.35, gain: 0.45 },
  echoBeats: 1,
  duck: 0,
  effect: 'none',
  drive: 0,
}
