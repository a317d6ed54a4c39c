// How dates, years, decades and times of day are said.

import { ones, sayTens } from './numbers.ts'
import type { Rule } from './rule.ts'

const months = 'January February March April May June July August September October November December'.split(' ')
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

const shortMonth = `(${months.map((month) => month.slice(0, 3)).join('|')}|Sept)`
const shortDay = '(Sun|Mon|Tue|Tues|Wed|Thu|Thur|Thurs|Fri|Sat)'
const year = '(1[1-9]\\d\\d|20\\d\\d)'

/** Dates, years and times; before the rules for measures, which would take `1980s` for seconds. */
export const dateRules: readonly Rule[] = [
  [
    /\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:T(?=\d\d:))?(?!\d)/g,
    (_, written = '', month = '', day = '') => sayDate(written, month, day),
  ],
  // With slashes as Americans write it, unless there is no such month; with stops as Europeans do.
  [
    /\b(0?[1-9]|[12]\d|3[01])\/(0?[1-9]|[12]\d|3[01])\/(\d{4})\b/g,
    (date = '', first = '', second = '', written = '') => {
      const [month, day] = Number(first) > 12 ? [second, first] : [first, second]
      return Number(month) > 12 ? date : sayDate(written, month, day)
    },
  ],
  [
    /\b(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.(\d{4})\b/g,
    (_, day = '', month = '', written = '') => sayDate(written, month, day),
  ],
  [new RegExp(`\\b${shortMonth}\\b\\.?(?=,? \\d)`, 'g'), (_, short = '') => longName(months, short)],
  [
    new RegExp(`\\b${shortDay}\\.? ?[-–] ?${shortDay}\\b\\.?(?= |[,;:)]|$)`, 'g'),
    (_, first = '', last = '') => `${longName(days, first)} to ${longName(days, last)}`,
  ],
  [new RegExp(`\\b${shortDay}\\b\\.?(?=,? (?:\\d|${months.join('|')}))`, 'g'), (_, day = '') => longName(days, day)],
  [/(\d) ?([ap])\.?m\b\.?(?: ?[-–] ?(?=\d))/gi, (_, hour = '', half = '') => `${hour} ${half}.m. to `],
  [/(\d) ?([ap])m\b/gi, (_, hour = '', half = '') => `${hour} ${half.toLowerCase()}.m.`],
  [/(?<=\d\d:\d\d):\d\d(?:\.\d+)?Z?\b/g, ''],
  [new RegExp(`\\b${year}s\\b`, 'g'), (_, first = '') => sayDecade(first)],
  [/(?<![\w'])'?([1-9]0)s\b/g, (_, decade = '') => toPlural(sayTens(Number(decade)))],
  [
    new RegExp(`\\b${year} ?[-–] ?(?:${year}|(\\d\\d))(?![\\w,.]*\\d)`, 'g'),
    (_, from = '', to = '', short = '') => `${sayYear(from)} to ${to ? sayYear(to) : sayTens(Number(short))}`,
  ],
  [
    new RegExp(
      `\\b(in|since|until|till|from|to|year|of|by|before|after|around|circa|and|${months.join('|')},?|[A-Z][a-z]{2,8},?|\\d{1,2}(?:st|nd|rd|th)?,) ${year}(?![\\w,.:]*\\d|\\s*(?:%|percent|people|items|times|words|years|miles|credits|dollars|euros|pounds|meters|metres|kilo|[a-z]{1,3}\\b(?<!\\b(?:a|an|the|and|or|is|was|he|she|it|we|in|on|at|to|of|by|as|if|so|no|but|for|all|her|his|had|has|did)\\b)))\\b`,
      'g',
    ),
    (_, before = '', written = '') => `${before} ${sayYear(written)}`,
  ],
]

function sayDate(written: string, month: string, day: string): string {
  return `${months[Number(month) - 1] ?? ''} ${Number(day)}, ${sayYear(written)}`
}

function sayYear(written: string): string {
  const [century, rest] = [Number(written.slice(0, 2)), Number(written.slice(2))]
  if (century % 10 === 0 && rest < 10)
    return `${ones[century / 10] ?? ''} thousand${rest === 0 ? '' : ` ${sayTens(rest)}`}`
  if (rest === 0) return `${sayTens(century)} hundred`
  return `${sayTens(century)} ${rest < 10 ? 'oh ' : ''}${sayTens(rest)}`
}

function sayDecade(written: string): string {
  return toPlural(sayYear(written))
}

function toPlural(word: string): string {
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`
}

function longName(names: readonly string[], short: string): string {
  return names.find((name) => name.startsWith(short.slice(0, 3))) ?? short
}
