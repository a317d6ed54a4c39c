// Cinematic: strings, brass and big drums that build up.

import type { Style } from '../style.ts'

export const cinematic: Style = {
  bpm: [76, 92],
  beats: 4,
  swing: { place: 0.5, beats: 1 },
  bright: {
    scale: 'major',
    first: ['I V vi IV', 'I iii IV V', 'I bVII IV I'],
    second: ['IV V iii vi', 'bVI bVII I I', 'vi IV I V'],
    cadence: ['Vsus4', 'I'],
  },
  dark: {
    scale: 'minor',
    first: ['i bVI bIII bVII', 'i bVI iv V', 'i v bVI iv'],
    second: ['bVI bVII i bIII', 'iv i bVI V', 'bVI bIII bVII iv'],
    cadence: ['V', 'i'],
  },
  pad: { instrument: 'strings', level: 0.44, room: 0.6, center: 58 },
  chords: {
    instrument: 'piano',
    level: 0.42,
    room: 0.5,
    center: 64,
    patterns: ['6-4-5-4-6-4-5-4-', '6---4---5---4---'],
    arpeggio: true,
    hold: 1,
  },
  bass: {
    instrument: 'strings',
    level: 0.42,
    room: 0.3,
    center: 38,
    patterns: ['r-------------8-', 'r-------r-------'],
    hold: 2.6,
  },
  lead: {
    instrument: 'brass',
    level: 0.4,
    room: 0.6,
    center: 67,
    rhythms: ['7-----5-6-------7-----5-4-------', '6-------5---6---7---------------'],
    hold: 1.6,
  },
  drums: {
    kit: 'orchestral',
    level: 0.75,
    calm: { kick: '6---------------' },
    full: { kick: '9-----6-8-------', tom: '----5---6-5-6---', snare: '2-223-2-2-223-33' },
    fill: { kick: '9-----6-8-8-8-8-', tom: '--------6-67-778', snare: '2-223-2-4-455678' },
  },
  room: { seconds: 3.6, darkness: 0.3, gain: 0.6 },
  echoBeats: 1,
  duck: 0,
  effect: 'none',
  drive: 0,
}
