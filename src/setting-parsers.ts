// Parsers of settings: each converts what is written, or throws an Error whose message completes "NAME must be …".
import { accessSync, constants, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isTimeZone } from './core/calendar.ts'

export function parseUrl(written: string): string | null {
  if (written === '') return null
  const url = URL.parse(written)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error('must be an address that begins with `http://` or `https://`')
  return written.replace(/\/+$/, '')
}

/** The console, and every path in answers, begin at the root of the host. */
export function parseOrigin(written: string): string | null {
  const address = parseUrl(written)
  if (address !== null && !/^https?:\/\/[^/?#@\\]+$/i.test(address))
    throw new Error(
      'must be an address that begins with `http://` or `https://`, without a path, such as `https://media.example.com`',
    )
  return address
}

// User, host, port, and the rest.
const databaseAddress = /^\w+:\/\/(?:[^/?]*@)?(?:[^/?@:,\s]*|\[[\da-f:.]+\])(?::(\d+))?(?:[/?]\S*)?$/i

export function parseDatabaseUrl(written: string): string | null {
  if (written === '') return null
  if (!/^postgres(ql)?:\/\/./.test(written)) throw new Error('must begin with postgres://')
  const address = databaseAddress.exec(written)
  if (address === null || Number(address[1] ?? 0) > 65_535)
    throw new Error(
      'must be the address of one server, such as postgres://user:password@host:5432/name; write / in a password as %2F, @ as %40',
    )
  return written
}

// A day is longer than a quote is valid: the start of a removed job, repeated, is refused and not charged again.
export function parseDays(written: string): number | null {
  if (written === '') return null
  const days = Number(written)
  if (!/^\d+$/.test(written) || days < 1 || days > 36_500)
    throw new Error('must be a whole number, 1 to 36500, or empty')
  return days
}

export function parseCredits(written: string): number | null {
  if (written === '') return null
  const credits = Number(written)
  if (!/^\d+$/.test(written) || !Number.isSafeInteger(credits))
    throw new Error('must be a whole number of credits, 0 to 2^53 - 1, or empty')
  return credits
}

export function parseOrigins(written: string): ReadonlySet<string> {
  const origins = written.split(',').map((origin) => origin.trim())
  for (const origin of origins)
    if (origin !== '' && origin !== '*' && URL.parse(origin)?.origin !== origin)
      throw new Error('must be origins such as `https://app.example`, without a path, separated by commas, or `*`')
  return new Set(origins.filter(Boolean))
}

export function parsePort(written: string): number | null {
  if (written === '') return null
  const port = Number(written)
  if (!/^\d+$/.test(written) || port > 65_535) throw new Error('must be a port, 0 to 65535')
  return port
}

export function parsePath(written: string): string | null {
  return written === '' ? null : resolve(written)
}

export function parseProgram(written: string): string | null {
  if (written === '') return null
  const path = resolve(written)
  try {
    accessSync(path, constants.X_OK)
  } catch {
    throw new Error('must be the path of a program')
  }
  return path
}

/** Null for root: processes then run as the server does. */
export function parseUser(written: string): { readonly uid: number; readonly gid: number } | null {
  const [, uid, gid = uid] = /^(\d+)(?::(\d+))?$/.exec(written) ?? findUser(written) ?? []
  if (uid === undefined) throw new Error('must be the name of a user, `uid` or `uid:gid`')
  return uid === '0' ? null : { uid: Number(uid), gid: Number(gid) }
}

/** The numbers of a user in the list of the system, as a match of a pattern has them. */
function findUser(name: string): readonly string[] | null {
  const [, , uid = '', gid = ''] = readUsers().find(([found]) => found === name) ?? []
  if (uid !== '') return [name, uid, gid]
  // Lists of users do not exist everywhere.
  return name === 'nobody' ? [name, '65534', '65534'] : name === 'root' ? [name, '0', '0'] : null
}

function readUsers(): string[][] {
  try {
    return readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
  } catch {
    return []
  }
}

export function parseTimeZone(written: string): string {
  if (!isTimeZone(written)) throw new Error('must be the name of a time zone, such as `UTC` or `Europe/Berlin`')
  return written
}

export function parseBoolean(written: string): boolean {
  if (written !== 'true' && written !== 'false') throw new Error('must be `true` or `false`')
  return written === 'true'
}

export function parseLogLevel(written: string): string {
  if (!['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].includes(written))
    throw new Error('must be trace, debug, info, warn, error, fatal or silent')
  return written
}
