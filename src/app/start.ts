// The composition root begins here: a core with its doors, or a gateway in front of a core elsewhere.
import type { Logger } from 'pino'
import { type Config, findUnknownSettings } from '../config.ts'
import type { Secrets } from '../engines/secrets.ts'
import type { App, Overrides } from './app.ts'
import { startCore } from './core.ts'
import { openSecrets } from './models.ts'
import { createLogger } from './observe/log.ts'
import { closedTraces, findCollector, type OpenTraces, openTraces } from './observe/traces.ts'

/**
 * Starts a server: a core with its doors, or with `coreUrl` a pure gateway in front of a core elsewhere.
 * @throws StartupError when something an operator can mend is in the way
 */
export async function startApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const { secrets = openSecrets() } = overrides
  const { log, traces } = overrides.log
    ? { log: overrides.log, traces: overrides.traces ?? closedTraces }
    : await openLog(config, secrets)
  if (config.coreUrl === null) return startCore(config, { ...overrides, log, traces, secrets })
  const { startGateway } = await import('./gateway.ts')
  return startGateway(config, config.coreUrl, { log, traces })
}

/** The log of a server, and its traces. The first line of the log names unknown settings of the environment. */
export async function openLog(
  config: Config,
  secrets: Secrets,
  environment: NodeJS.ProcessEnv = {},
): Promise<{ log: Logger; traces: OpenTraces }> {
  let traces = closedTraces
  const ids = findCollector(config) === null ? undefined : () => traces.ids()
  const log = createLogger(config.logLevel, null, secrets, ids)
  traces = await openTraces(config, (reason) => {
    if (reason === null) log.info('traces are sent again')
    else log.warn({ reason }, 'traces are lost')
  })
  const unknown = findUnknownSettings(environment)
  if (unknown.length > 0)
    log.warn(
      { variables: unknown.map(({ env, similar }) => `${env}${similar && `: ${similar}`}`) },
      'unknown settings are ignored',
    )
  return { log, traces }
}
