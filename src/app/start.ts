// The composition root begins here: a core with its doors, or a gateway in front of a core elsewhere.
import type { Logger } from 'pino'
import { type Config, findUnknownSettings } from '../config.ts'
import type { Secrets } from '../engines/secrets.ts'
import type { App, Overrides } from './app.ts'
import { startCore } from './core.ts'
import { openSecrets } from './models.ts'
import { createLogger } from './observe/log.ts'

/**
 * Starts a server: a core with its doors, or with `coreUrl` a pure gateway in front of a core elsewhere.
 * @throws StartupError when something an operator can mend is in the way
 */
export async function startApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const { secrets = openSecrets() } = overrides
  const log = overrides.log ?? createLogger(config.logLevel, null, secrets)
  if (config.coreUrl === null) return startCore(config, { ...overrides, log, secrets })
  const { startGateway } = await import('./gateway.ts')
  return startGateway(config, config.coreUrl, log)
}

/** The log of a server; its first line names unknown settings of the environment. */
export function openLog(config: Config, secrets: Secrets, environment: NodeJS.ProcessEnv): Logger {
  const log = createLogger(config.logLevel, null, secrets)
  const unknown = findUnknownSettings(environment)
  if (unknown.length > 0) log.warn({ variables: unknown }, 'unknown settings are ignored')
  return log
}
