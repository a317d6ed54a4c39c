// A log whose lines a test may look into.
import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'

/** A logger, and what was written to it so far. */
export function keepLog(level = 'info'): { readonly log: Logger; readonly lines: any[] } {
  const lines: any[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  return { log: pino({ level }, sink), lines }
}
