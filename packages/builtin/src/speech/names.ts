// How abbreviations and names are said that Flite would misread.

import type { Rule } from './rule.ts'

/** Said letter by letter, though they look like words. */
const letters =
  /\b(UK|EU|UN|AI|API|URL|UTC|UI|UX|OS|PR|HR|VAT|ATM|ISO|AAC|USA|CEO|CTO|FAQ|DIY|ESA|IMF|IPO|AGM|ETA|LED)(?=s?\b)/g
/** The same, but for a text that is all in capitals: there they may well be words. */
const lettersOrWords = /\b(US|IT|ID|IP|AM|PM)(?=s?\b)/g

// Before a name, a title; without a name it is left alone.
const titles: Record<string, string> = {
  Prof: 'Professor',
  Gov: 'Governor',
  Sen: 'Senator',
  Rep: 'Representative',
  Gen: 'General',
  Capt: 'Captain',
  Sgt: 'Sergeant',
  Lt: 'Lieutenant',
  Col: 'Colonel',
  Rev: 'Reverend',
  Mt: 'Mount',
  Ft: 'Fort',
}

const shortened: Record<string, string> = {
  Ave: 'Avenue',
  Blvd: 'Boulevard',
  Jr: 'Junior',
  Sr: 'Senior',
  Esq: 'Esquire',
  Ltd: 'Limited',
  Corp: 'Corporation',
  Dept: 'Department',
  dept: 'department',
  govt: 'government',
  approx: 'approximately',
  incl: 'including',
  misc: 'miscellaneous',
  max: 'maximum',
}

// Words of our days whose letters lead Flite astray, spelled so that it says them right.
const respelled: Record<string, string> = {
  gigabyte: 'gigga byte',
  gigabytes: 'gigga bytes',
  gigabit: 'gigga bit',
  gigabits: 'gigga bits',
  gigahertz: 'gigga hertz',
  milliamp: 'milly amp',
  async: 'ay sink',
  webhook: 'web hook',
  webhooks: 'web hooks',
  github: 'git hub',
  postgres: 'post gress',
}

/** Abbreviations and names; after the rules for dates and measures. */
export const nameRules: readonly Rule[] = [
  [/\be\. ?g\.,?/gi, 'for example'],
  [/\bi\. ?e\.,?/gi, 'that is'],
  [/\betc\./gi, 'et cetera'],
  [/\bvs?\.(?= )/gi, 'versus'],
  [/\bPh\.? ?D\b\.?(?! [A-Z])/g, 'P H D'],
  [
    new RegExp(`\\b(${Object.keys(titles).join('|')})\\. ?(?=[A-Z])`, 'g'),
    (_, short = '') => `${titles[short] ?? ''} `,
  ],
  [
    new RegExp(`\\b(${Object.keys(shortened).join('|')})\\.(?= |,|;|$)`, 'g'),
    (_, short = '') => shortened[short] ?? short,
  ],
  [/\bNo\. ?(?=\d)/g, 'number '],
  [/\bFig\. ?(?=\d)/gi, 'figure '],
  [/\bpp\. ?(?=\d)/g, 'pages '],
  [/\bp\. ?(?=\d)/g, 'page '],
  [/\bVol\. ?(?=\d)/gi, 'volume '],
  [/\bw\/o\b/gi, 'without'],
  [/\bw\/(?= )/gi, 'with'],
  [/\bOK\b/g, 'okay'],
  [/\bWi-?Fi\b/gi, 'why fie'],
  [/\bSQLite\b/g, 'S Q Lite'],
  [/\bPostgreSQL\b/g, 'post gress Q L'],
  [/\bnginx\b/gi, 'engine X'],
  [/\bJSON\b/g, 'jason'],
  [/\bYAML\b/g, 'yammel'],
  [/\bOAuth/g, 'oh auth'],
  [/\b([CF])#/g, '$1 sharp'],
  [/(?<!\w)\.NET\b/g, 'dot net'],
  [/\bTel\. ?(?=[\d(])/gi, 'telephone '],
  [/\b([A-Z]{1,2})&([A-Z])\b/g, (_, before = '', after = '') => `${before.split('').join(' ')} and ${after}`],
  // Words that were written as one.
  [/(?<=[a-z])(?<!\b(?:Ma?c|De|Di|La|Le|Fitz|Van|O))(?=[A-Z](?:[a-z]|[A-Z]+\b))/g, ' '],
  [letters, (word = '') => word.split('').join(' ')],
  [
    new RegExp(`\\b(${Object.keys(respelled).join('|')})\\b`, 'gi'),
    (_, word = '') => respelled[word.toLowerCase()] ?? word,
  ],
  // What is going to be read is not what was read.
  [
    /(?<=\b(?:to|will|can|could|would|should|must|may|might|please|don't|didn't|let's|I'll|you'll|we'll) )read\b/gi,
    'reed',
  ],
  [
    /(?<=\b(?:I|you|we|they|who|people|to|can|could|would|should|must|don't|didn't) )live\b(?! (?:music|show|shows|stream|video|audience))/gi,
    'liv',
  ],
  [/\blead(?= (?:singer|guitar|guitarist|actor|role|story|time))\b/gi, 'leed'],
]

/** Letters that are words where everything is in capitals. */
export const lowerCaseNameRules: readonly Rule[] = [[lettersOrWords, (word = '') => word.split('').join(' ')]]
