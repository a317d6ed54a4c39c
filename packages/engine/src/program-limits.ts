// The limits of a program as operators write them, in a catalog entry or in a setting.
import type { ProgramLimits } from './limited-program.ts'

const numbers = {
  open_files: 'openFiles',
  tasks: 'tasks',
  file_bytes: 'fileBytes',
  memory_bytes: 'memoryBytes',
} as const
const flags = { network: 'network', new_privileges: 'newPrivileges' } as const

/** Reads limits. @returns what is wrong with them, in words, if they are not limits */
export function parseProgramLimits(written: unknown): ProgramLimits | string {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return 'must be a map of limits'
  const limits: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(written)) {
    const text = String(value)
    if (Object.hasOwn(numbers, name)) {
      if (!/^[1-9]\d{0,15}$/.test(text)) return `${name} must be a whole number from 1`
      limits[numbers[name as keyof typeof numbers]] = Number(text)
    } else if (Object.hasOwn(flags, name)) {
      if (text !== 'true' && text !== 'false') return `${name} must be true or false`
      limits[flags[name as keyof typeof flags]] = text === 'true'
    } else if (name === 'user') {
      const [, uid, gid = uid] = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(text) ?? []
      if (uid === undefined) return 'user must be a number, or two as in 1000:1000'
      limits['user'] = { uid: Number(uid), gid: Number(gid) }
    } else return `${name} is not a limit`
  }
  return limits
}

/** The same from one line, such as `open_files=1024 network=false`. @throws Error that says what is wrong */
export function parseProgramLimitsText(text: string): ProgramLimits {
  const pairs = text.split(/[\s,]+/).filter((pair) => pair !== '')
  const parsed = parseProgramLimits(Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s, 2))))
  if (typeof parsed === 'string') throw new Error(`must be limits such as \`open_files=1024 network=false\`: ${parsed}`)
  return parsed
}
