// Conditional requests and ranges of a file (RFC 9110, sections 13 and 14).
import type { IncomingHttpHeaders } from 'node:http'
import type { ByteRange } from './blobs.ts'

/** The version of a file, which conditions are compared with. */
export interface Validators {
  /** In quotes, weak or not. */
  readonly etag: string
  /** In milliseconds since 1970; HTTP compares whole seconds. */
  readonly modifiedAtMs: number
}

/** The answer to a GET or HEAD: its status, and the range of the file that it contains; null for the whole file or for no content. */
export interface RangeAnswer {
  readonly status: 200 | 206 | 304 | 412 | 416
  readonly range: ByteRange | null
}

/** Evaluates the conditions and the range of a request. Several ranges, or an invalid one, count as a request for the whole file. */
export function answerRange(headers: IncomingHttpHeaders, bytes: number, validators: Validators): RangeAnswer {
  if (isOutdated(headers, validators)) return { status: 412, range: null }
  if (isKnown(headers, validators)) return { status: 304, range: null }
  const [, first = '', last = ''] = /^ *bytes= *(\d*) *- *(\d*) *$/.exec(headers.range ?? '') ?? []
  if ((first === '' && last === '') || !isRangeCurrent(headers, validators)) return { status: 200, range: null }
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (first !== '' && last !== '' && Number(first) > Number(last)) return { status: 200, range: null }
  return start > end ? { status: 416, range: null } : { status: 206, range: { start, end } }
}

/** Whether the conditions of the request exclude this version. */
function isOutdated(headers: IncomingHttpHeaders, { etag, modifiedAtMs }: Validators): boolean {
  const match = headers['if-match']
  if (match !== undefined) return match.trim() !== '*' && !listTags(match).includes(opaque(etag))
  return toSeconds(modifiedAtMs) > toSeconds(Date.parse(headers['if-unmodified-since'] ?? ''))
}

/** Whether the client has this version. */
function isKnown(headers: IncomingHttpHeaders, { etag, modifiedAtMs }: Validators): boolean {
  // A reload requests the file even if the client has it.
  if (headers['cache-control']?.includes('no-cache')) return false
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) return noneMatch.trim() === '*' || listTags(noneMatch).includes(opaque(etag))
  return toSeconds(modifiedAtMs) <= toSeconds(Date.parse(headers['if-modified-since'] ?? ''))
}

function isRangeCurrent(headers: IncomingHttpHeaders, { etag, modifiedAtMs }: Validators): boolean {
  const version = headers['if-range']
  if (typeof version !== 'string') return true
  if (version.includes('"')) return opaque(version) === opaque(etag)
  return toSeconds(modifiedAtMs) <= toSeconds(Date.parse(version))
}

function listTags(written: string): string[] {
  return written.split(',').map(opaque)
}

/** A file never changes under its key, so weak tags are as good as strong ones. */
function opaque(tag: string): string {
  return tag.trim().replace(/^W\//, '')
}

/** NaN for anything but a date; every comparison with it is false. */
function toSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}
