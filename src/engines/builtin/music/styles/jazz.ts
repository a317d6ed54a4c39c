// Jazz: walking bass, swung ride, sparse piano, a vibraphone.

import type { Style } from '../style.ts'

export const jazz: Style = {
  bpm: [108, 144],
  beats: 4,
  swing: { place: 0.655, beats: 1 },
  bright: {
    scale: 'major',
    first: ['Imaj7 vi7 ii7 V13', 'ii7 V13 Imaj7 VI7', 'Imaj7/VI7 ii7/V13 iii7/VI7 ii7/V9'],
    second: ['IVmaj7 iv7 iii7 VI7', 'iii7 VI7 ii7 V9', 'iv7 bVII9 Imaj7 V9'],
    cadence: ['ii7/V13', 'I6'],
  },
  dark: {
    scale: 'dorian',
    first: ['i7 iiø7/V7 i7 iiø7/V7', 'i6 iv7 iiø7 V7', 'iv7 bVII9 bIIImaj7 V7'],
    second: ['iv7 i7 iiø7 V7', 'bVImaj7 V7 i7 V7'],
    cadence: ['iiø7/V7', 'i6'],
  },
  pad: null,
  chords: {
    instrument: 'piano',
    level: 0.4,
    room: 0.25,
    center: 62,
    patterns: ['6-----5---------', '--5-------5-----', '------6-----4---'],
    arpeggio: false,
    hold: 0.8,
  },
  bass: { instrument: 'uprightBass', level: 0.5, room: 0.08, center: 41, patterns: ['r---w---w---w---'], hold: 0.9 },
  lead: {
    instrument: 'vibraphone',
    level: 0.42,
    room: 0.35,
    center: 72,
    rhythms: [
      '--6-5-4---5-4-6-----5-4---------',
      '6---4-5-6-4-5-------6-5-4-------',
      '--5-6---4-5-6-5-4-------5-6-----',
    ],
    hold: 0.8,
  },
  drums: {
    kit: 'acoustic',
    level: 0.5,
    calm: { ride: '6---6-4-6---6-4-' },
    full: {
      ride: '6---7-5-6---7-5-',
      hat: '----5-------5---',
      brush: '----4-------4---',
      kick: '4-------3-----2-',
      rim: '------------3---',
    },
    fill: { ride: '6---7-5-6-------', snare: '------3-5-6-4-6-', kick: '4-----------5---' },
  },
  room: { seconds: 1.5, darkness: 0.4, gain: 0.4 },
  echoBeats: 1,
  duck: 0,
  effect: 'none',
  drive: 0,
}
