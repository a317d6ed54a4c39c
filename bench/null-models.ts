// Catalogs of models that make nothing, for benchmarks of everything but the making.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a model that makes nothing does. */
export interface NullModel {
  readonly id: string
  readonly concurrency: number
  readonly delayMs?: number
  readonly picture?: boolean
}

/** The input of every such model. */
export const nullInput = { prompt: 'nothing at all' }
/** What a job of every such model costs. */
export const nullCredits = 2

/** Writes a catalog file; returns its path. JSON is YAML. */
export function writeNullCatalog(folder: string, models: readonly NullModel[]): string {
  const file = join(folder, 'null-models.yaml')
  writeFileSync(file, JSON.stringify({ models: models.map(toEntry) }))
  return file
}

function toEntry({ id, concurrency, delayMs = 0, picture = false }: NullModel): object {
  return {
    id,
    name: id,
    description: 'Makes nothing.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'bench',
    created: '2026-11-01',
    price: { credits: nullCredits },
    engine: { kind: 'null', delay_ms: delayMs, picture, concurrency },
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: { prompt: { type: 'string', minLength: 1, maxLength: 2000 } },
    },
  }
}
