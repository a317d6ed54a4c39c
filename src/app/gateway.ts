// A pure gateway: the REST door in front of a core elsewhere.
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createKeyRates } from '../rpc/key-rates.ts'
import { createRemoteCore } from '../rpc/remote.ts'
import { createRemoteSubmissions } from '../rpc/submissions.ts'
import { createStrangerLog } from '@mediagen/net/stranger-log.ts'
import type { App } from './app.ts'
import { createGrace } from './grace.ts'
import { openDoors, logReady } from './doors.ts'
import { showLostLines } from './log.ts'
import { createMetrics } from './metrics.ts'

/** Starts a gateway; it connects to the core when the first request comes. */
export async function startGateway(config: Config, coreUrl: string, log: Logger): Promise<App> {
  await using parts = new AsyncDisposableStack()
  const core = createRemoteCore(coreUrl)
  parts.defer(() => core.close())
  const metrics = createMetrics()
  showLostLines(metrics)
  const doors = parts.use(
    await openDoors(config, {
      log,
      strangers: createStrangerLog(log, config.maxRefusalLines),
      metrics,
      unready: async () => ((await core.isReachable()) ? null : `the core at ${coreUrl} cannot be reached`),
      transport: core.transport,
      submissions: createRemoteSubmissions(core.transport),
      keys: { authenticate: core.authenticate, ...createKeyRates(config, null) },
      rpc: null,
      grace: createGrace(config.stopGraceSeconds),
      onPublicUrl: () => {},
    }),
  )
  logReady(log, doors.addresses, { core: coreUrl })
  const owned = parts.move()
  return {
    ...doors.addresses,
    services: core.transport,
    operator: null,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
