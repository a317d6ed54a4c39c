// The logger of a process: JSON lines on standard output, with clients' texts cut and secrets redacted.
import { type DestinationStream, type Logger, pino } from 'pino'
import { cutText, redactSecrets } from '../../core/text/log-text.ts'
import type { Secrets } from '../../engines/secrets.ts'
import { LogStream } from './log-stream.ts'
import type { Metrics } from './metrics.ts'

// Fields that may contain text from a client.
const clientTexts = ['path', 'method', 'request_id', 'detail', 'reason', 'address'] as const

function cutField(value: unknown): unknown {
  return typeof value === 'string' ? cutText(value) : value
}

let standardOutput: LogStream | null = null

/** The log's way to standard output; all loggers of a process share it. */
function openStandardOutput(): LogStream {
  if (standardOutput) return standardOutput
  const stream = new LogStream(1, ({ lines, code }) =>
    createLogger('error', stream).error({ lines, reason: code }, 'log lines were lost'),
  )
  process.on('exit', () => stream.flushSync())
  return (standardOutput = stream)
}

/** Shows how many lines this process could not write. */
export function showLostLines(metrics: Pick<Metrics, 'showCounter'>): void {
  metrics.showCounter(
    'mediagen_log_lines_lost_total',
    'Lines of the log that could not be written',
    () => standardOutput?.lost ?? 0,
  )
}

/**
 * Creates the logger. Writing does not block the event loop.
 * @param to destination instead of standard output
 * @param secrets values that no line has
 * @param ids makes more fields of a line: the current span
 */
export function createLogger(
  level: string,
  to?: DestinationStream | null,
  secrets?: Secrets,
  ids?: () => object,
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: Object.fromEntries(clientTexts.map((name) => [name, cutField])),
      ...(ids && { mixin: ids }),
      hooks: { streamWrite: (line) => redactSecrets(secrets ? secrets.hide(line) : line) },
    },
    to ?? openStandardOutput(),
  )
}
