// Conditional requests and ranges of a file (RFC 9110, sections 13 and 14).
import type { IncomingHttpHeaders } from 'node:http'
import type { ByteRange } from './blobs.ts'

/** What conditions are held against. */
export interface Validators {
  /** In quotes, weak or not. */
  readonly etag: string
  /** In milliseconds since 1970; HTTP compares whole seconds. */
  readonly modifiedAtMs: number
}

/** The answer to a GET or HEAD: its status, and the range it has of the file; null for the whole file, or for nothing of it. */
export interface Asked {
  readonly status: 200 | 206 | 304 | 412 | 416
  readonly range: ByteRange | null
}

/** What a request asks for, by its conditions and its range. Several ranges, and what is no range of bytes, ask for the whole file. */
export function readAsked(headers: IncomingHttpHeaders, bytes: number, validators: Validators): Asked {
  if (isOutdated(headers, validators)) return { status: 412, range: null }
  if (isKnown(headers, validators)) return { status: 304, range: null }
  const [, first = '', last = ''] = /^ *bytes= *(\d*) *- *(\d*) *$/.exec(headers.range ?? '') ?? []
  if ((first === '' && last === '') || !isRangeCurrent(headers, validators)) return { status: 200, range: null }
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (first !== '' && last !== '' && Number(first) > Number(last)) return { status: 200, range: null }
  return start > end ? { status: 416, range: null } : { status: 206, range: { start, end } }
}

/** Whether the request is for another version only. */
function isOutdated(headers: IncomingHttpHeaders, { etag, modifiedAtMs }: Validators): boolean {
  const match = headers['if-match']
  if (match !== undefined) return match.trim() !== '*' && !listTags(match).includes(opaque(etag))
  return toSeconds(modifiedAtMs) > toSeconds(Date.parse(headers['if-unmodified-since'] ?? ''))
}

/** Whether the client has this version. */
function isKnown(headers: IncomingHttpHeaders, { etag, modifiedAtMs }: Validators): boolean {
  // Who reloads wants the file, whatever it has.
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

/** A file never changes under its key, so weak tags say as much as strong ones. */
function opaque(tag: string): string {
  return tag.trim().replace(/^W\//, '')
}

/** Not a number for what is no date; every comparison with that is false. */
function toSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}
