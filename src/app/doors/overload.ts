// What refuses requests while this process is behind.
import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import type { Config } from '../../config.ts'
import { MediagenError } from '../../core/errors.ts'
import { createShedder, type Shedder } from '../../guards/shedder.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Rounds } from './rounds.ts'

function readThreadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** What refuses requests while this process is behind; the log says when it begins and ends. */
export function startShedder(
  { maxQueueMs }: Config,
  { log, metrics }: { log: Logger; metrics: Metrics },
  rounds: Rounds,
): Shedder {
  const shedder = createShedder({
    maxQueueMs,
    nowMs: () => performance.now(),
    cpuMs: readThreadCpuMs,
    atEndOfRound: rounds.atEnd,
    onBegin: () => log.warn({ max_queue_ms: maxQueueMs }, 'overloaded: requests wait too long, and some are refused'),
    onEnd: (refused) => log.warn({ refused }, 'no longer overloaded'),
  })
  metrics.showCounter('mediagen_shed_total', 'Requests that were refused because the server was behind', shedder.shed)
  metrics.showGauge(
    'mediagen_queue_delay_seconds',
    'How long requests wait before they are looked at',
    () => shedder.delayMs() / 1000,
  )
  return shedder
}

const retryAfterSeconds = 2

/** The refusal of a request. */
export function overloaded(maxQueueMs: number): MediagenError {
  return new MediagenError(
    'overloaded',
    `This server is behind: requests wait longer than they may (MEDIAGEN_MAX_QUEUE_MS, ${maxQueueMs}). Nothing was held; send the request again later, with the same Idempotency-Key.`,
    { retryAfterSeconds },
  )
}
