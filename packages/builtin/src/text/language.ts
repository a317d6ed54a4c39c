// Chooses the language whose forms are drawn for characters that Chinese, Japanese and Korean share: 直 and 骨 differ.

/** A language whose characters Noto Sans has, as BCP 47 names it. */
export type CjkLanguage = 'zh-Hans' | 'zh-Hant' | 'ja' | 'ko'

const languages: readonly CjkLanguage[] = ['zh-Hans', 'zh-Hant', 'ja', 'ko']
const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u
const hangul = /\p{Script=Hangul}/u
const bopomofo = /\p{Script=Bopomofo}/u
const han = /\p{Script=Han}/gu

let simplified: ReadonlySet<string> | null = null
let traditional: ReadonlySet<string> | null = null

/**
 * The language of a text by its script: kana is Japanese, Hangul is Korean; Han characters alone are taken for Chinese,
 * traditional when more of them are in Big5 only than in GB 2312 only. Give it the whole text, not a line of it.
 * @param wish what the input says; anything but a language is decided here
 */
export function languageOf(text: string, wish?: unknown): CjkLanguage {
  const wished = languages.find((language) => language === wish)
  if (wished) return wished
  if (kana.test(text)) return 'ja'
  if (hangul.test(text)) return 'ko'
  if (bopomofo.test(text)) return 'zh-Hant'
  simplified ??= decodeAll('gbk', [0xb0, 0xf7], [0xa1, 0xfe])
  traditional ??= decodeAll('big5', [0xa4, 0xf9], [0x40, 0xfe])
  let balance = 0
  for (const [character] of text.matchAll(han)) {
    if (traditional.has(character)) balance++
    if (simplified.has(character)) balance--
  }
  return balance > 0 ? 'zh-Hant' : 'zh-Hans'
}

/** All two-byte characters of an old encoding: the lists of characters that its country agreed upon. */
function decodeAll(encoding: string, first: readonly [number, number], second: readonly [number, number]): Set<string> {
  const decoder = new TextDecoder(encoding)
  const found = new Set<string>()
  for (let high = first[0]; high <= first[1]; high++)
    for (let low = second[0]; low <= second[1]; low++) found.add(decoder.decode(Uint8Array.of(high, low)))
  return found
}
