// Says at the start which models are not ready, and why: a line for each provider.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Logger } from 'pino'
import type { CheckedCatalog } from '../../catalog/catalog.ts'
import { findEnd } from '../../catalog/lifetime.ts'
import type { Model } from '../../catalog/model.ts'
import { describeMissing } from '../../engines/secrets.ts'

/** Logs a line for each provider whose models are not all ready, and returns the lines. */
export function logWaiting(log: Logger, ...given: Parameters<typeof describeWaiting>): string[] {
  const lines = describeWaiting(...given)
  for (const line of lines) log.info(line)
  return lines
}

/** A line for each provider whose models are not all ready, such as `fal: 14 models wait for FAL_KEY`. */
export function describeWaiting(catalog: Pick<CheckedCatalog, 'models' | 'unready'>, nowMs: number): string[] {
  const waiting = catalog.models.flatMap((model) => {
    const reason = catalog.unready(model)
    // What has ended waits for nothing.
    return reason === null || findEnd(model, nowMs)?.isOver ? [] : [{ provider: nameProvider(model), reason }]
  })
  return [...Map.groupBy(waiting, ({ provider }) => provider)].map(([provider, models]) => {
    const count = models.length === 1 ? '1 model waits' : `${models.length} models wait`
    const reasons = [...new Set(models.map(({ reason }) => reason))]
    const missing = reasons.map(findVariable)
    return missing.every((name) => name !== null)
      ? `${provider}: ${count} for ${missing.join(' and ')}`
      : `${provider}: ${count}: ${reasons.join('; ')}`
  })
}

/** The provider of a model, or what makes it here. */
function nameProvider({ engine }: Model): string {
  const provider = engine['provider'] as JsonObject | undefined
  return provider ? String(provider['name']) : engine.kind
}

/** The variable that a key is missing from; null if the reason is another. */
function findVariable(reason: string): string | null {
  const beginning = describeMissing('')
  return reason.startsWith(beginning) ? reason.slice(beginning.length) : null
}
