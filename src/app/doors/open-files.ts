// The limit of open files of this process, and its division: a connection takes one file, a download another.
import { readFileSync } from 'node:fs'

/** How many files each kind may take. The rest is for the database, jobs and media. */
export interface FileShares {
  /** To the HTTP port. */
  readonly connections: number
  /** To the gRPC port. */
  readonly grpcConnections: number
  readonly downloads: number
}

/** Half of all files for connections to the HTTP port, an eighth for those to the gRPC port, an eighth for downloads. */
export function shareFiles(files: number): FileShares {
  const eighth = Math.floor(files / 8)
  return { connections: 4 * eighth, grpcConnections: eighth, downloads: eighth }
}

/** Reads the limit of open files. Node has raised it to the hard limit. */
export function readFileLimit(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    // There is no /proc outside Linux.
    return readReportedLimit()
  }
}

function readReportedLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isNaN(soft) ? Number.POSITIVE_INFINITY : soft
}
