// What the providers of the catalog say, and which models wait for what: for the command line, and in a running server.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine, JsonObject, ProviderCheck } from '@mediagen/engine/engine.ts'
import type { CheckedCatalog } from '../../catalog/catalog.ts'
import { loadProviders } from '../../catalog/load.ts'
import type { Model } from '../../catalog/model.ts'
import { listProviders, type ProviderReport, type Providers } from '../../catalog/providers.ts'
import type { Config } from '../../config.ts'
import type { Clock } from '../../core/clock.ts'
import { readKey, type Secrets } from '../../engines/secrets.ts'
import type { OperatorCatalog } from '../../services/admin/admin-models.ts'
import { type Builtin, findBuiltin } from '../builtin.ts'
import { openCatalog, openIdleEngines, readModels } from '../models.ts'

export type { ProviderReport }

const unchecked: ProviderCheck = { answers: null, key: 'unknown', reason: null }

/**
 * Asks all providers at once; each has `timeoutMs` to answer, and what does not answer is reported like everything else.
 * @throws StartupError if the catalog is invalid
 */
export async function checkProviders(config: Config, timeoutMs: number): Promise<ProviderReport[]> {
  await using idle = await openIdleEngines(await findBuiltin(), config)
  const { engines } = idle
  return await ask(loadProviders(config.catalog), readModels(config.catalog, engines), engines, timeoutMs)
}

/** Opens the catalog of a running server, with its providers. While they are checked they are not asked a second time. */
export async function openOperatorCatalog(
  builtin: Builtin | null,
  config: Config,
  engines: readonly Engine[],
  secrets: Secrets,
  clock?: Clock,
): Promise<CheckedCatalog & OperatorCatalog> {
  const catalog = await openCatalog(builtin, config, engines, clock)
  const { models } = catalog
  let found: Providers | undefined
  let checking: Promise<ProviderReport[]> | null = null
  // The files may have changed since they were loaded; models have what they were loaded with.
  const findProviders = (): Providers =>
    (found ??= new Map([
      ...loadProviders(config.catalog),
      ...models.flatMap(({ engine: { provider } }) =>
        provider ? [[String((provider as JsonObject)['name']), provider as JsonObject] as const] : [],
      ),
    ]))
  return {
    ...catalog,
    listProviders() {
      const reasons = models.map((model) => [model, catalog.unready(model)] as const)
      const known = [...findProviders()].map(([name, provider]) => [name, knowOf(provider, secrets)] as const)
      return report(findProviders(), reasons, new Map(known))
    },
    checkProviders: (timeoutMs) =>
      (checking ??= ask(findProviders(), models, engines, timeoutMs).finally(() => (checking = null))),
  }
}

async function ask(
  providers: Providers,
  models: readonly Model[],
  engines: readonly Engine[],
  timeoutMs: number,
): Promise<ProviderReport[]> {
  const findEngine = (wanted: unknown): Engine | undefined => engines.find(({ kind }) => kind === wanted)
  const ended = new AbortController()
  const late = sleep(timeoutMs, `there was no answer within ${timeoutMs / 1000} s`, { signal: ended.signal })
  const askModel = async (model: Model): Promise<readonly [Model, string | null]> => [
    model,
    (await Promise.race([findEngine(model.engine.kind)?.unready(model.engine), late])) ?? null,
  ]
  const askProvider = async (name: string, provider: JsonObject): Promise<readonly [string, ProviderCheck]> => [
    name,
    (await findEngine(provider['kind'])?.checkProvider?.(provider, timeoutMs)) ?? unchecked,
  ]
  try {
    const [reasons, answers] = await Promise.all([
      Promise.all(models.filter(({ engine }) => listProviders(engine).length > 0).map(askModel)),
      Promise.all([...providers].map(([name, provider]) => askProvider(name, provider))),
    ])
    return report(providers, reasons, new Map(answers))
  } finally {
    late.catch(() => {})
    ended.abort()
  }
}

function report(
  providers: Providers,
  reasons: readonly (readonly [Model, string | null])[],
  checks: ReadonlyMap<string, ProviderCheck>,
): ProviderReport[] {
  return [...providers].map(([name, provider]) => ({
    name,
    kind: String(provider['kind']),
    ...(checks.get(name) ?? unchecked),
    models: reasons.flatMap(([{ id, engine }, reason]) => {
      const names = listProviders(engine)
      return names.includes(name) ? [{ id, waits_for: reason ?? findBroken(names, checks) }] : []
    }),
  }))
}

/** What the settings alone say of a provider. */
function knowOf({ token_env: name }: JsonObject, secrets: Secrets): ProviderCheck {
  if (typeof name !== 'string') return { ...unchecked, key: 'none' }
  const { reason } = readKey(secrets, name)
  return { answers: null, key: reason === null ? 'unknown' : 'missing', reason }
}

/** Whether a provider is known not to work. */
export function isBroken({ answers, key }: ProviderCheck): boolean {
  return answers === false || key === 'missing' || key === 'refused'
}

/** A hosted service that does not answer leaves its models ready, because jobs wait for it; here that is worth a word. */
function findBroken(names: readonly string[], checks: ReadonlyMap<string, ProviderCheck>): string | null {
  const known = names.flatMap((name) => checks.get(name) ?? [])
  return known.length > 0 && known.every(isBroken) ? known.map(({ reason }) => reason).join('; ') : null
}
