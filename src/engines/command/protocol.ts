// The protocol of programs: splits output into bounded lines and parses the JSON lines among them.

import { stripVTControlCharacters } from 'node:util'
import { EngineError } from '@mediagen/engine/engine.ts'
import type { JsonValue, Usage } from '@mediagen/engine/engine.ts'

/** One JSON line of a program, which may hold several messages. */
export interface ProgramMessage {
  /** 0 … 1. */
  readonly progress?: number
  readonly usage?: Usage
  readonly checkpoint?: JsonValue
  /** Name of a file in the folder that is not an output. */
  readonly preview?: string
  readonly error?: EngineError
}

/** Maximum length of a failure message, in characters; it goes into the job's record. */
const maxMessageLength = 1000
/** Maximum number of usage names of one run; a price needs two or three. */
export const maxUsageNames = 32
const lineFeed = 10
const carriageReturn = 13

/**
 * Creates a consumer of chunks that calls `onLine` for each line that is not blank. A carriage return also ends a line, because
 * progress bars use it. A line is cut at `maxBytes`, so memory is bounded. `end` emits an
 * unfinished last line.
 */
export function createLineReader(maxBytes: number, onLine: (line: string) => void) {
  let parts: Buffer[] = []
  let bytes = 0
  const keep = (part: Buffer) => {
    const kept = part.subarray(0, maxBytes - bytes)
    // A copy: a view would keep the whole chunk alive for as long as the line is unfinished.
    if (kept.length > 0) parts.push(Buffer.from(kept))
    bytes += kept.length
  }
  const end = () => {
    const line = Buffer.concat(parts).toString('utf8')
    parts = []
    bytes = 0
    if (line.trim() !== '') onLine(line)
  }
  const write = (chunk: Buffer) => {
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      if (chunk[at] !== lineFeed && chunk[at] !== carriageReturn) continue
      keep(chunk.subarray(start, at))
      end()
      start = at + 1
    }
    keep(chunk.subarray(start))
  }
  return { write, end }
}

/**
 * Parses a line of standard output: an object with at least one of `progress`, `usage`, `checkpoint`, `preview` and `error`,
 * each of them well formed. Progress is clamped to 0 … 1; usage is a map of names to finite numbers ≥ 0.
 * @returns null for every other line; it goes to the log.
 */
export function parseMessage(line: string): ProgramMessage | null {
  // Most lines are not messages; parsing only possible objects keeps them cheap.
  if (!line.trimStart().startsWith('{')) return null
  let value: JsonValue
  try {
    value = JSON.parse(line) as JsonValue
    // A checkpoint is stored as JSON, and a line can nest deeper than JSON.stringify supports.
    JSON.stringify(value)
  } catch {
    return null
  }
  if (!isObject(value)) return null
  const message: { -readonly [key in keyof ProgramMessage]: ProgramMessage[key] } = {}
  if (value['progress'] !== undefined) {
    if (typeof value['progress'] !== 'number') return null
    message.progress = Math.min(1, Math.max(0, value['progress']))
  }
  if (value['usage'] !== undefined) {
    if (!isUsage(value['usage'])) return null
    message.usage = value['usage']
  }
  if (value['checkpoint'] !== undefined) message.checkpoint = value['checkpoint']
  if (value['preview'] !== undefined) {
    if (!isDraftName(value['preview'])) return null
    message.preview = value['preview']
  }
  if (value['error'] !== undefined) {
    if (!isObject(value['error'])) return null
    message.error = toError(value['error'])
  }
  return Object.keys(message).length > 0 ? message : null
}

/** Makes a program's message safe to show to a customer: no control characters, bounded length. */
export function toShownText(text: string): string {
  const plain = stripVTControlCharacters(text)
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  return plain.length > maxMessageLength ? `${plain.slice(0, maxMessageLength - 1)}…` : plain
}

function isObject(value: JsonValue | undefined): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A draft's name begins with a dot, because such a file is never an output. */
function isDraftName(value: JsonValue): value is string {
  return typeof value === 'string' && /^\.[\w.-]{1,100}$/.test(value) && value !== '..'
}

function isUsage(value: JsonValue): value is { [name: string]: number } {
  if (!isObject(value)) return false
  const amounts = Object.values(value)
  // JSON can spell infinity, as 1e999.
  return (
    amounts.length <= maxUsageNames && amounts.every((amount) => Number.isFinite(amount) && (amount as number) >= 0)
  )
}

function toError({ code, message, retryable }: { [key: string]: JsonValue }): EngineError {
  const known = typeof code === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(code)
  const words = typeof message === 'string' ? toShownText(message) : ''
  return new EngineError(
    known ? code : 'program_failed',
    words === '' ? 'The program failed without saying why.' : words,
    retryable === true,
  )
}
