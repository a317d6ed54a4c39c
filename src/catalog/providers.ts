// `providers:` of catalog files: servers of others that engines use. Models of any file may name them.
import type { EngineSpec, JsonObject } from '@mediagen/engine/engine.ts'
import { EntryError } from './entry.ts'

/** Providers by name, each with its `name` and `kind`. */
export type Providers = Map<string, JsonObject>

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
