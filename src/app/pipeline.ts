// What all calls of a core go through.
import type { Config } from '../config.ts'
import type { Clock } from '../core/clock.ts'
import { everySecond } from '../core/every-second.ts'
import type { Store } from '../core/store.ts'
import { createUnauthenticatedLog } from '../guards/unauthenticated-log.ts'
import { createAccess } from '../rpc/keys/access.ts'
import { createKeyUses } from '../rpc/keys/key-uses.ts'
import { startKeyWatch } from '../rpc/keys/key-watch.ts'
import type { PipelineDeps } from '../rpc/pipeline.ts'
import type { SignInSettings } from './sign-in.ts'

/** Starts what checks, limits and logs calls. */
export function startPipeline(
  config: Config,
  {
    store,
    clock,
    log,
    traces,
    metrics,
    isAlone: lookAround,
    signIn,
  }: { store: Store; clock: Clock; isAlone: () => boolean; signIn: SignInSettings | null } & Pick<
    PipelineDeps,
    'log' | 'traces' | 'metrics'
  >,
): PipelineDeps & Disposable {
  let isAlone = lookAround()
  // A process that starts is noticed within a second.
  const stopLooking = everySecond(() => {
    try {
      isAlone = lookAround()
    } catch {
      // For example, no file descriptor is free: the last answer is used again.
    }
  })
  const uses = createKeyUses(store)
  const shared = { takeTokens: store.takeTokens, isAlone: () => isAlone }
  const access = createAccess(store, clock, uses, { ...config, signIn }, shared)
  const keys = startKeyWatch(access)
  return {
    access,
    keys,
    metrics,
    log,
    traces,
    logUnauthenticated: createUnauthenticatedLog(log, config.maxRefusalLines),
    maxViolations: config.maxViolations,
    [Symbol.dispose]() {
      stopLooking()
      keys.stop()
      uses.flush()
    },
  }
}
