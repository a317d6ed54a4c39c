// The models that ship as their catalog files describe them, for the gallery and the tests of this package: what a
// server does with an entry before its engine sees the input, and no more.
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineSpec, JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load } from 'js-yaml'
import { builtinCatalog } from '../src/catalog.ts'

/** What a catalog file says of a model. */
export interface Entry {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly modality: string
  readonly engine: EngineSpec
  /** JSON Schema 2020-12 of the input. */
  readonly input: JsonObject
  readonly samples: readonly WrittenSample[]
}

/** What a catalog file says of a sample; paths are relative to it. */
export interface WrittenSample {
  readonly file: string
  readonly preview?: string
  readonly input: JsonObject
}

/** Every model that ships. */
export const entries: readonly Entry[] = builtinCatalog.flatMap(
  (file) => (load(readFileSync(file, 'utf8')) as { models: Entry[] }).models,
)

/** A model that ships. */
export function findEntry(id: string): Entry {
  const entry = entries.find((one) => one.id === id)
  if (!entry) throw new Error(`${id} does not ship`)
  return entry
}

const ajv = new Ajv2020({ allErrors: true, useDefaults: true, strictTypes: false, strictRequired: false })
ajv.addFormat('media', true)
ajv.addVocabulary(['x-enum-titles', 'x-enum-descriptions', 'x-enum-samples', 'x-advanced'])

/**
 * The input as the engine gets it: with the schema's defaults.
 * @throws Error that says what of it the schema does not allow
 */
export function completeInput({ id, input: schema }: Entry, input: JsonObject): JsonObject {
  const completed = structuredClone(input)
  if (ajv.validate(schema, completed)) return completed
  throw new Error(`${id}: ${ajv.errorsText(undefined, { dataVar: 'input' })}`)
}

/** Leaves the `data:` URIs of an input as files in a folder; their paths by JSON pointer. */
export async function handIn(
  { input: schema }: Entry,
  input: JsonObject,
  folder: string,
): Promise<ReadonlyMap<string, string>> {
  await mkdir(folder, { recursive: true })
  const files = new Map<string, string>()
  for (const [pointer, reference] of listReferences(schema, input)) {
    const file = join(folder, pointer.slice(1).replaceAll('/', '-'))
    await writeFile(file, Buffer.from(reference.slice(reference.indexOf(',') + 1), 'base64'))
    files.set(pointer, file)
  }
  return files
}

/** The fields that take media, and the items of lists of them: no model that ships has them deeper. */
function listReferences(schema: JsonObject, input: JsonObject): readonly (readonly [pointer: string, text: string])[] {
  return Object.entries(schema['properties'] as Record<string, JsonObject>).flatMap(([name, field]) => {
    const value = input[name]
    if (isMedia(field) && typeof value === 'string') return [[`/${name}`, value] as const]
    if (isMedia(field['items']) && Array.isArray(value))
      return value.map((item, index) => [`/${name}/${index}`, String(item)] as const)
    return []
  })
}

/** Whether a schema is that of a reference to media. */
export function isMedia(schema: JsonValue | undefined): boolean {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) && schema['format'] === 'media'
}
