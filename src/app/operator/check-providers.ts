// Asks every provider of the catalog how it is, and says which models wait for what.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine, JsonObject, ProviderCheck } from '@mediagen/engine/engine.ts'
import { loadProviders } from '../../catalog/load.ts'
import type { Model } from '../../catalog/model.ts'
import type { Config } from '../../config.ts'
import { findBuiltin } from '../builtin.ts'
import { openIdleEngines, readModels } from '../models.ts'

/** A provider and the models that name it. */
export interface ProviderReport extends ProviderCheck {
  readonly name: string
  readonly kind: string
  readonly models: readonly {
    readonly id: string
    /** Null if the model can run. */
    readonly waits_for: string | null
  }[]
}

const unchecked: ProviderCheck = { answers: null, key: 'unknown', reason: null }

/**
 * Asks all providers at once; each has `timeoutMs` to answer, and what does not answer is reported like everything else.
 * @throws StartupError if the catalog is invalid
 */
export async function checkProviders(config: Config, timeoutMs: number): Promise<ProviderReport[]> {
  await using idle = await openIdleEngines(await findBuiltin(), config)
  const { engines } = idle
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
    const models = readModels(config.catalog, engines).filter((model) => listProviders(model).length > 0)
    const providers = [...loadProviders(config.catalog)]
    const [reasons, answers] = await Promise.all([
      Promise.all(models.map(askModel)),
      Promise.all(providers.map(([name, provider]) => askProvider(name, provider))),
    ])
    const checks = new Map(answers)
    return providers.map(([name, provider]) => ({
      name,
      kind: String(provider['kind']),
      ...(checks.get(name) ?? unchecked),
      models: reasons
        .filter(([model]) => listProviders(model).includes(name))
        .map(([model, reason]) => ({ id: model.id, waits_for: reason ?? findBroken(listProviders(model), checks) })),
    }))
  } finally {
    late.catch(() => {})
    ended.abort()
  }
}

/** Whether a provider is known not to work. */
export function isBroken({ answers, key }: ProviderCheck): boolean {
  return answers === false || key === 'missing' || key === 'refused'
}

/** The names of the providers of a model and its fallbacks. */
function listProviders({ engine }: Model): string[] {
  const specs = [engine, ...((engine['fallback'] ?? []) as (typeof engine)[])]
  return specs.flatMap(({ provider }) => (provider ? [String((provider as JsonObject)['name'])] : []))
}

/** A hosted service that does not answer leaves its models ready, because jobs wait for it; here that is worth a word. */
function findBroken(names: readonly string[], checks: ReadonlyMap<string, ProviderCheck>): string | null {
  const known = names.flatMap((name) => checks.get(name) ?? [])
  return known.length > 0 && known.every(isBroken) ? known.map(({ reason }) => reason).join('; ') : null
}
