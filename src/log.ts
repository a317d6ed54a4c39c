// The logger of a process: JSON lines on standard output, texts of clients cut, secrets left out.
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { cutText, redactSecrets } from './core/log-text.ts'

// Fields that may hold what a client sent.
const clientTexts = ['path', 'method', 'request_id', 'detail', 'reason', 'address'] as const

function cutField(value: unknown): unknown {
  return typeof value === 'string' ? cutText(value) : value
}

/**
 * Creates the logger. Lines are written without holding up the event loop.
 * @param to where they go instead of standard output
 */
export function createLogger(level: string, to?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: Object.fromEntries(clientTexts.map((name) => [name, cutField])),
      hooks: { streamWrite: redactSecrets },
    },
    to ?? destination({ dest: 1, sync: false }),
  )
}
