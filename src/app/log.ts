// The logger of a process: JSON lines on standard output, with clients' texts cut and secrets redacted.
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { cutText, redactSecrets } from '@mediagen/core/log-text.ts'
import type { Secrets } from '@mediagen/backends/secrets.ts'

// Fields that may contain text from a client.
const clientTexts = ['path', 'method', 'request_id', 'detail', 'reason', 'address'] as const

function cutField(value: unknown): unknown {
  return typeof value === 'string' ? cutText(value) : value
}

/**
 * Creates the logger. Writing does not block the event loop.
 * @param to destination instead of standard output
 * @param secrets values that no line has
 */
export function createLogger(level: string, to?: DestinationStream | null, secrets?: Secrets): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: Object.fromEntries(clientTexts.map((name) => [name, cutField])),
      hooks: { streamWrite: (line) => redactSecrets(secrets ? secrets.hide(line) : line) },
    },
    to ?? destination({ dest: 1, sync: false }),
  )
}
