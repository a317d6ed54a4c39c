// A log whose lines a test may look into.
import type { Logger } from 'pino'
import { createLogger } from '../src/app/observe/log.ts'

/** What a logger may write to, and the lines that it wrote so far. */
export function keepLines(): { readonly lines: any[]; readonly sink: { write(text: string): void } } {
  const lines: any[] = []
  return { lines, sink: { write: (line) => void lines.push(JSON.parse(line)) } }
}

/** A logger, and what was written to it so far. */
export function keepLog(level = 'info'): { readonly log: Logger; readonly lines: any[] } {
  const { lines, sink } = keepLines()
  return { log: createLogger(level, sink), lines }
}
