// Names that a JSON text gives twice in one object. A parser keeps the last value of each, silently.
import { MediagenError } from '../core/errors.ts'
import { describeViolations } from '../core/violations.ts'
import { toPointerToken } from '../schema/violations.ts'

const [quote, comma, openArray, closeArray, openObject, closeObject] = [0x22, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d]

// More are not looked for: texts that nest deep would have long pointers.
const mostFound = 100

/** An object or a list that is being read: the names so far (null in a list), and where in it. */
interface Open {
  readonly names: Set<string> | null
  at: string | number
}

/**
 * The JSON pointers of names that are given more than once. One pass, after the text was parsed and its values were counted.
 * `"\u0077idth"` and `"width"` are the same name. A check of numbers as they are written belongs into this pass, too.
 * @param text valid JSON
 */
function findRepeatedNames(text: string): string[] {
  const found: string[] = []
  const open: Open[] = []
  // Whether the next text is a name.
  let isName = false
  for (let i = 0; i < text.length && found.length < mostFound; i += 1) {
    const inner = open.at(-1)
    switch (text.charCodeAt(i)) {
      case openObject:
        open.push({ names: new Set(), at: '' })
        isName = true
        break
      case openArray:
        open.push({ names: null, at: 0 })
        isName = false
        break
      case closeObject:
      case closeArray:
        open.pop()
        isName = false
        break
      case comma:
        isName = inner?.names !== null
        if (typeof inner?.at === 'number') inner.at += 1
        break
      case quote: {
        const end = endOfText(text, i)
        if (isName && inner?.names) {
          inner.at = readName(text, i, end)
          if (inner.names.has(inner.at)) found.push(toPointer(open))
          inner.names.add(inner.at)
        }
        isName = false
        i = end
        break
      }
      // Anything else is a number, a word or white space.
      default:
    }
  }
  return [...new Set(found)]
}

/**
 * Refuses a JSON text that gives a name twice.
 * @param text valid JSON
 * @throws MediagenError `invalid_request` that names each place
 */
export function refuseRepeatedNames(text: string): void {
  const violations = findRepeatedNames(text).map((pointer) => ({ pointer, detail: 'is given more than once' }))
  if (violations.length > 0) throw new MediagenError('invalid_request', describeViolations(violations), { violations })
}

/** The closing quote of the text that begins at `start`. */
function endOfText(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end < 0 ? text.length : end
}

/** Whether an odd number of backslashes is before this place. */
function isEscaped(text: string, place: number): boolean {
  let before = place - 1
  while (text[before] === '\\') before -= 1
  return (place - before) % 2 === 0
}

function readName(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end)
  return name.includes('\\') ? (JSON.parse(text.slice(start, end + 1)) as string) : name
}

function toPointer(open: readonly Open[]): string {
  return open.map(({ at }) => `/${toPointerToken(String(at))}`).join('')
}
