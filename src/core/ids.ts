// Ids that sort by time: a prefix for the kind, then a UUIDv7 in lower-case Crockford base32.

const alphabet = Buffer.from('0123456789abcdefghjkmnpqrstvwxyz')
const idPattern = /^[a-z]+_[0-9a-hjkmnp-tv-z]{26}$/

// Filled anew for each id.
const bytes = new Uint8Array(16)
const view = new DataView(bytes.buffer)
const digits = Buffer.alloc(26)

export type IdPrefix = 'job' | 'acct' | 'key' | 'entry' | 'wh' | 'file' | 'audit' | 'sess' | 'worker'

/** Creates ids whose text order is the order in which this process created them. */
export interface IdSource {
  next(prefix: IdPrefix): string
}

/**
 * Creates an id source.
 * Ids made within one millisecond stay in order by a counter in the 12 bits that RFC 9562 allows for it (section 6.2, method 1).
 */
export function createIdSource(nowMs: () => number, random: (bytes: number) => Uint8Array): IdSource {
  let lastMs = 0
  let counter = 0
  return {
    next(prefix) {
      const now = nowMs()
      if (now > lastMs) {
        lastMs = now
        counter = 0
      } else if (++counter > 0xfff) {
        lastMs += 1
        counter = 0
      }
      return `${prefix}_${encodeUuid7(lastMs, counter, random(8))}`
    },
  }
}

/** Whether `text` has the form of an id with this prefix. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && idPattern.test(text)
}

function encodeUuid7(ms: number, counter: number, tail: Uint8Array): string {
  bytes.set(tail, 8)
  view.setUint32(0, Math.floor(ms / 0x10000))
  view.setUint16(4, ms % 0x10000)
  view.setUint16(6, 0x7000 | counter)
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80)
  return toBase32()
}

/** The 128 bits as 26 digits, the first of which carries only three bits, so that text order is number order. */
function toBase32(): string {
  let length = 0
  let rest = 0
  // Two leading zeros make 130 bits, five per digit.
  let restBits = 2
  for (const byte of bytes) {
    rest = (rest << 8) | byte
    restBits += 8
    while (restBits >= 5) {
      restBits -= 5
      digits[length++] = alphabet[rest >> restBits] ?? 0
      rest &= (1 << restBits) - 1
    }
  }
  return digits.toString('latin1')
}

/** When an id was made, in milliseconds since 1970. @param id one for which `isId` holds */
export function timeOfId(id: string): number {
  // The first ten digits carry 48 bits: the time.
  const [, time = ''] = /_(.{10})/.exec(id) ?? []
  return Array.from(time).reduce((sum, digit) => sum * 32 + alphabet.indexOf(digit), 0)
}
