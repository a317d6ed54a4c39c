// A log whose lines a test may look into.
import { type Logger, pino } from 'pino'

/** What a logger may write to, and the lines that it wrote so far. */
export function keepLines(): { readonly lines: any[]; readonly sink: { write(text: string): void } } {
  const lines: any[] = []
  // Lines about calls come in batches.
  const write = (text: string): void =>
    void lines.push(
      ...text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    )
  return { lines, sink: { write } }
}

/** A logger, and what was written to it so far. */
export function keepLog(level = 'info'): { readonly log: Logger; readonly lines: any[] } {
  const { lines, sink } = keepLines()
  return { log: pino({ level }, sink), lines }
}
