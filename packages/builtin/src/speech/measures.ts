// How money, fractions and units are said.

import { sayTens } from './numbers.ts'
import type { Rule } from './rule.ts'

const scales: Record<string, string> = {
  k: 'thousand',
  m: 'million',
  mn: 'million',
  bn: 'billion',
  b: 'billion',
  tn: 'trillion',
}

/** One of it, many of it, and its hundredth part. */
const currencies: Record<string, readonly [string, string, string]> = {
  $: ['dollar', 'dollars', 'cents'],
  '£': ['pound', 'pounds', 'pence'],
  '€': ['euro', 'euros', 'cents'],
  '¥': ['yen', 'yen', 'sen'],
}

// What follows a number. A unit that is no regular plural has both words.
const units: Record<string, string | readonly [string, string]> = {
  km: 'kilometer',
  m: 'meter',
  cm: 'centimeter',
  mm: 'millimeter',
  nm: 'nanometer',
  mi: 'mile',
  yd: 'yard',
  ft: ['foot', 'feet'],
  km2: 'square kilometer',
  m2: 'square meter',
  cm2: 'square centimeter',
  m3: 'cubic meter',
  cm3: 'cubic centimeter',
  ha: 'hectare',
  kg: 'kilogram',
  g: 'gram',
  mg: 'milligram',
  lb: 'pound',
  lbs: 'pound',
  oz: 'ounce',
  l: 'liter',
  L: 'liter',
  ml: 'milliliter',
  mL: 'milliliter',
  tsp: 'teaspoon',
  tbsp: 'tablespoon',
  ms: 'millisecond',
  sec: 'second',
  min: 'minute',
  h: 'hour',
  hr: 'hour',
  hrs: 'hour',
  W: 'watt',
  kW: 'kilowatt',
  MW: 'megawatt',
  GW: 'gigawatt',
  Wh: 'watt hour',
  kWh: 'kilowatt hour',
  MWh: 'megawatt hour',
  V: 'volt',
  mAh: 'milliamp hour',
  kcal: 'kilocalorie',
  kB: 'kilobyte',
  KB: 'kilobyte',
  MB: 'megabyte',
  GB: 'gigabyte',
  TB: 'terabyte',
  Mbps: ['megabit per second', 'megabits per second'],
  Gbps: ['gigabit per second', 'gigabits per second'],
  Hz: ['hertz', 'hertz'],
  kHz: ['kilohertz', 'kilohertz'],
  KHz: ['kilohertz', 'kilohertz'],
  MHz: ['megahertz', 'megahertz'],
  GHz: ['gigahertz', 'gigahertz'],
  dB: 'decibel',
  px: 'pixel',
  fps: ['frame per second', 'frames per second'],
  rpm: ['revolution per minute', 'revolutions per minute'],
  bpm: ['beat per minute', 'beats per minute'],
  mph: ['mile per hour', 'miles per hour'],
  kph: ['kilometer per hour', 'kilometers per hour'],
  'km/h': ['kilometer per hour', 'kilometers per hour'],
  'm/s': ['meter per second', 'meters per second'],
}

const amount = '(\\d+(?:,\\d{3})*)(?:\\.(\\d\\d))?'
const number = '(?<![\\w.,:/])((?:[$£€¥-])?\\d+(?:,\\d{3})*(?:\\.\\d+)?)'
const unit = Object.keys(units)
  .toSorted((a, b) => b.length - a.length)
  .join('|')

/** Money, fractions and units; after the rules for dates. */
export const measureRules: readonly Rule[] = [
  [
    /([$£€¥])(\d+(?:,\d{3})*(?:\.\d+)?) ?(k|mn|m|bn|b|tn)\b/gi,
    (_, sign = '', count = '', scale = '') => `${count} ${scales[scale.toLowerCase()] ?? ''} ${nameOf(sign, false)}`,
  ],
  [
    new RegExp(`([$£€¥])${amount}(?!\\.?\\d)( (?:thousand|million|billion|trillion))?`, 'g'),
    (all, sign = '', whole = '', parts = '', scale = '') => {
      if (parts && Number(whole) === 0) return `${Number(parts)} ${currencies[sign]?.[2] ?? ''}`
      // Flite knows dollars.
      if (sign === '$') return all ?? ''
      return `${whole}${scale} ${nameOf(sign, whole === '1' && !scale)}${parts && Number(parts) > 0 ? ` ${sayTens(Number(parts))}` : ''}`
    },
  ],
  [
    /([£€¥])(\d[\d,]*\.\d+)( (?:thousand|million|billion|trillion))?/g,
    (_, sign = '', count = '', scale = '') => `${count}${scale} ${nameOf(sign, false)}`,
  ],
  [/(\d) ?([£€¥])/g, (_, digit = '', sign = '') => `${digit} ${nameOf(sign, false)}`],
  [/\$(?! ?\d)|[£€¥]/g, (sign = '') => ` ${nameOf(sign, false)} `],
  [/\b(\d+) 3\/4\b/g, '$1 and three quarters'],
  [/(?<![\d/.])3\/4\b(?!\/)/g, 'three quarters'],
  [/\b(\d+) 1\/4\b/g, '$1 and a quarter'],
  [/(?<![\d/.])1\/4\b(?!\/)/g, 'a quarter'],
  [/(?<![\w.])(\d{1,2})'(\d{1,2})"/g, '$1 feet $2'],
  [/ degrees +C\b/g, ' degrees Celsius'],
  [/ degrees +F\b/g, ' degrees Fahrenheit'],
  [/(?<=\d)k\b/g, ' thousand'],
  [/(?<=\d)M(?= [a-z])/g, ' million'],
  [/(?<=\d)x\b/g, ' times'],
  [/\b(24|50|9)\/(7|50|11)\b(?!\/)/g, (_, one = '', other = '') => `${sayTens(Number(one))} ${sayTens(Number(other))}`],
  [/\/(?=(?:second|minute|hour|day|night|week|month|year|person|user)\b)/g, ' per '],
  [
    new RegExp(`${number} ?(${unit})(?![\\w/])(?:\\.(?= [a-z\\d]))?`, 'g'),
    (_, count = '', name = '') => `${count} ${unitOf(name, count === '1')}`,
  ],
  [/\btsp\b/g, 'teaspoon'],
  [/\btbsp\b/g, 'tablespoon'],
  // Seconds need a space: 5s may be many things.
  [new RegExp(`${number} s\\b(?!\\.\\w)`, 'g'), (_, count = '') => `${count} ${count === '1' ? 'second' : 'seconds'}`],
  [/(?<=[A-Za-z] )(?:km\/h|kph)\b/g, 'kilometers per hour'],
  [/(?<=[A-Za-z] )mph\b/g, 'miles per hour'],
]

function nameOf(sign: string, one: boolean): string {
  return currencies[sign]?.[one ? 0 : 1] ?? ''
}

function unitOf(name: string, one: boolean): string {
  const words = units[name] ?? name
  if (typeof words !== 'string') return words[one ? 0 : 1]
  return one ? words : `${words}s`
}
