// Synthwave: driving analog bass, wide chords, a singing lead, a big snare.

import type { Style } from '../style.ts'

export const synthwave: Style = {
  bpm: [88, 108],
  beats: 4,
  swing: { place: 0.5, beats: 1 },
  bright: {
    scale: 'major',
    first: ['I V vi IV', 'IV I V vi', 'I vi IV V'],
    second: ['vi IV I V', 'IV V vi V'],
    cadence: ['V', 'I'],
  },
  dark: {
    scale: 'minor',
    first: ['i bVI bIII bVII', 'i bVII bVI bVII', 'bVI bVII i i'],
    second: ['bIII bVII iv i', 'bVI bIII bVII i', 'iv bVI bVII bVII'],
    cadence: ['bVII', 'i'],
  },
  pad: { instrument: 'supersaw', level: 0.2, room: 0.4, center: 62 },
  chords: {
    instrument: 'softLead',
    level: 0.3,
    room: 0.4,
    center: 72,
    patterns: ['5-5-5-5-5-5-5-5-', '5-55-55-5-55-55-'],
    arpeggio: true,
    hold: 0.4,
  },
  bass: {
    instrument: 'analogBass',
    level: 0.46,
    room: 0.02,
    center: 36,
    patterns: ['r-r-r-r-r-r-r-r-', 'r-rrr-rrr-rrr-8-', 'r-r-8-r-r-r-8-5-'],
    hold: 0.4,
  },
  lead: {
    instrument: 'sawLead',
    level: 0.3,
    room: 0.45,
    center: 74,
    rhythms: ['7-------6---5---6-----5-4-------', '6-----5-6-------7---5---4-------'],
    hold: 1.3,
  },
  drums: {
    kit: 'electronic',
    level: 0.85,
    calm: { kick: '9-------9-------', hat: '4-3-4-3-4-3-4-3-' },
    full: { kick: '9---9---9---9---', snare: '----9-------9---', hat: '4-3-4-3-4-3-4-33' },
    fill: { kick: '9---9---9---9---', snare: '----9-------9-77', tom: '--------7-6-7688' },
  },
  room: { seconds: 2.4, darkness: 0.3, gain: 0.5 },
  echoBeats: 0.75,
  duck: 0.45,
  effect: 'chorus',
  drive: 1.2,
}
