// How many files this process may have open, and how they are shared out: a connection is one, a download another.
import { readFileSync } from 'node:fs'

/** How many files each may take. What is left is for the database, programs of jobs and their media. */
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

/** How many files this process may have open; Node has raised that to what it may be raised to. */
export function readFileLimit(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    // Only Linux tells in a file.
    return readReportedLimit()
  }
}

function readReportedLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isNaN(soft) ? Number.POSITIVE_INFINITY : soft
}
