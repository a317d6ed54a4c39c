// What all calls of a core go through.
import type { Config } from '../config.ts'
import type { Clock } from '../core/clock.ts'
import type { Store } from '../core/store.ts'
import { createAccess } from '../rpc/access.ts'
import { createCallLog } from '../rpc/call-log.ts'
import { startKeyWatch } from '../rpc/key-watch.ts'
import type { PipelineParts } from '../rpc/pipeline.ts'
import { createStrangerLog } from '../runtime/stranger-log.ts'

/** Starts what checks, limits and logs calls. */
export function startPipeline(
  config: Config,
  { store, clock, log, metrics }: { store: Store; clock: Clock } & Pick<PipelineParts, 'log' | 'metrics'>,
): PipelineParts & Disposable {
  const access = createAccess(store, clock, config)
  const keys = startKeyWatch(access)
  const calls = createCallLog(log)
  return {
    access,
    keys,
    metrics,
    log,
    calls,
    strangers: createStrangerLog(log, config.maxRefusalLines),
    maxViolations: config.maxViolations,
    [Symbol.dispose]() {
      keys.stop()
      calls.flush()
    },
  }
}
