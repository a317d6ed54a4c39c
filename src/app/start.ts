// The composition root begins here: a core with its doors, or a gateway in front of a core elsewhere.
import type { Config } from '../config.ts'
import type { App, Overrides } from './app.ts'
import { openSecrets } from './models.ts'
import { startCore } from './core.ts'
import { createLogger } from './log.ts'

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
