// Catalog files with a model for each kind of provider.
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EngineSpec } from '@mediagen/engine/engine.ts'
import type { Provider } from '../../src/engines/remote/provider.ts'
import { type KindCase, kindCases } from '../engines/remote/kinds.ts'

/** One of each kind of provider. */
export const cases = [...new Map(kindCases.toReversed().map((one) => [one.kind, one])).values()].toReversed()

export function findCase(kind: string): KindCase {
  return cases.find((one) => one.kind === kind) as KindCase
}

/** What else such a file has. */
export interface MoreModels {
  readonly fallback?: object
  readonly providers?: object
  /** Instead of those of the origins. */
  readonly specs?: readonly EngineSpec[]
}

/** Writes a catalog with one model for each of these providers, whose input may have a prompt; returns its path. */
export function writeModels(folder: string, origins: Readonly<Record<string, string>>, more: MoreModels = {}): string {
  copyFileSync(join(import.meta.dirname, '../engines/remote/workflow.json'), join(folder, 'workflow.json'))
  const specs = more.specs ?? Object.entries(origins).map(([kind, origin]) => findCase(kind).toSpec(origin))
  const providers = Object.fromEntries(
    specs.map(({ kind, provider }) => [kind, { ...(provider as Provider), name: undefined }]),
  )
  const models = specs.map((spec) => ({
    id: `test/${spec.kind}`,
    name: spec.kind,
    description: spec.kind,
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'test',
    created: '2026-01-01',
    price: { credits: 1 },
    engine: {
      ...spec,
      base_folder: undefined,
      provider: spec.kind,
      ...(more.fallback && { fallback: [more.fallback] }),
    },
    input: { type: 'object', properties: { prompt: { type: 'string' } } },
  }))
  const file = join(folder, 'models.json')
  writeFileSync(file, JSON.stringify({ providers: { ...providers, ...more.providers }, models }))
  return file
}
