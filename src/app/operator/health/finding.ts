// What is wrong with an installation, and the command that mends it; what status and doctor both look at.
import { statfsSync } from 'node:fs'
import { StartupError } from '../../../core/errors.ts'

/** One thing that is wrong. */
export interface Finding {
  /** What was looked at. */
  readonly check: string
  readonly problem: string
  /** The command that mends it. */
  readonly command: string
}

/** Below this much room, an installation is near its end. */
const leastBytes = 1024 ** 3
const leastFiles = 1000

/** How much room there is for a folder, and what is wrong with that. */
export function checkRoom(folder: string): {
  readonly freeBytes: number | null
  readonly findings: readonly Finding[]
} {
  let room: ReturnType<typeof statfsSync>
  try {
    room = statfsSync(folder)
  } catch {
    // There is no folder yet, and the check of the database says so.
    return { freeBytes: null, findings: [] }
  }
  const freeBytes = room.bavail * room.bsize
  const isLow = freeBytes < leastBytes || (room.files > 0 && room.ffree < leastFiles)
  const left = freeBytes < leastBytes ? `${(freeBytes / 1024 ** 2).toFixed(0)} MiB` : `room for ${room.ffree} files`
  const problem = `the disk of ${folder} has only ${left} left`
  return { freeBytes, findings: isLow ? [{ check: 'disk', problem, command: 'mediagen admin assets sweep' }] : [] }
}

/** What an error of opening the database says. @throws any other error */
export function toDatabaseFinding(error: unknown): Finding {
  if (!(error instanceof StartupError)) throw error
  const { message } = error
  const problem = message.replace(/\.$/, '')
  return { check: 'database', problem, command: findCommand(message) }
}

function findCommand(message: string): string {
  if (message.includes('`mediagen migrate`')) return 'mediagen migrate'
  if (message.includes('newer version')) return 'git pull && npm ci --omit=dev'
  if (/being restored|damaged|not a database/.test(message)) return 'mediagen restore BACKUP'
  if (message.includes('clock')) return 'timedatectl set-ntp true'
  if (message.includes('MEDIAGEN_DATABASE_URL')) return 'psql "$MEDIAGEN_DATABASE_URL" --command "SELECT 1"'
  return 'ls -l "$MEDIAGEN_DATA_DIR"'
}

/** The command for a model or a provider that waits for something. @param reason may name the variable of a missing key */
export function findProviderCommand(reason: string): string {
  const [variable] = /\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/.exec(reason) ?? []
  return variable === undefined ? 'mediagen admin providers check' : `export ${variable}=…`
}
