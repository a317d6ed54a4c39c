// `providers:` of catalog files: servers of others that engines use. Models of any file may name them.
import type { EngineSpec, JsonObject, ProviderCheck } from '@mediagen/engine/engine.ts'
import { EntryError } from './entry.ts'

/** Providers by name, each with its `name` and `kind`. */
export type Providers = Map<string, JsonObject>

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

/** The names of the providers of a model and its fallbacks, in the settings of its engine. */
export function listProviders(engine: EngineSpec): string[] {
  const specs = [engine, ...((engine['fallback'] ?? []) as EngineSpec[])]
  return specs.flatMap(({ provider }) => (provider ? [String((provider as JsonObject)['name'])] : []))
}

/**
 * Replaces the names of providers by the providers, in the settings of an engine and of its fallbacks.
 * @throws EntryError
 */
export function resolveProviders(engine: EngineSpec, providers: Providers, field = 'engine'): EngineSpec {
  const { provider: name, fallback, kind } = engine
  if (typeof name !== 'string') return engine
  const provider = providers.get(name)
  if (!provider)
    throw new EntryError(
      `${field}.provider`,
      `names "${name}", but the catalog has ${describe([...providers.keys()])} under "providers"`,
    )
  if (provider['kind'] !== kind)
    throw new EntryError(
      `${field}.provider`,
      `names "${name}", which is of the kind ${String(provider['kind'])}, not ${kind}`,
    )
  if (!Array.isArray(fallback)) return { ...engine, provider }
  const resolved = (fallback as EngineSpec[]).map((one, index) =>
    resolveProviders(one, providers, `${field}.fallback.${index}`),
  )
  return { ...engine, provider, fallback: resolved }
}

function describe(names: readonly string[]): string {
  return names.length === 0 ? 'none' : `only ${names.map((name) => `"${name}"`).join(', ')}`
}
