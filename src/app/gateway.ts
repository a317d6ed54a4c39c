// A pure gateway: the REST door in front of a core elsewhere.
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createUnauthenticatedLog } from '../guards/unauthenticated-log.ts'
import { createKeyRates } from '../rpc/keys/key-rates.ts'
import { createRemoteCore } from '../rpc/remote.ts'
import { createRemoteSignIns } from '../rpc/sign-ins.ts'
import { createRemoteSubmissions } from '../rpc/submissions.ts'
import type { App } from './app.ts'
import { openDoors, logReady } from './doors/doors.ts'
import { createGrace } from './doors/grace.ts'
import { showLostLines } from './observe/log.ts'
import { createMetrics } from './observe/metrics.ts'
import type { OpenTraces } from './observe/traces.ts'

/** Starts a gateway; it connects to the core when the first request comes. */
export async function startGateway(
  config: Config,
  coreUrl: string,
  { log, traces }: { log: Logger; traces: OpenTraces },
): Promise<App> {
  await using closing = new AsyncDisposableStack()
  closing.defer(async () => void (await traces.close()))
  const core = createRemoteCore(coreUrl)
  closing.defer(() => core.close())
  const metrics = createMetrics()
  showLostLines(metrics)
  const doors = closing.use(
    await openDoors(config, {
      log,
      traces,
      logUnauthenticated: createUnauthenticatedLog(log, config.maxRefusalLines),
      metrics,
      unready: async () => ((await core.isReachable()) ? null : `the core at ${coreUrl} cannot be reached`),
      transport: core.transport,
      submissions: createRemoteSubmissions(core.transport),
      signIns: createRemoteSignIns(core.transport),
      keys: { authenticate: core.authenticate, ...createKeyRates(config, null) },
      rpc: null,
      grace: createGrace(config.stopGraceSeconds),
      onPublicUrl: () => {},
    }),
  )
  logReady(log, doors.addresses, { core: coreUrl })
  const owned = closing.move()
  return {
    ...doors.addresses,
    services: core.transport,
    operator: null,
    waiting: [],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
