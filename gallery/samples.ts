// What the gallery asks of a model: its example input, once for each value of every choice that its schema offers.

import type { JsonObject, JsonValue } from '../src/core/engine.ts'
import type { Model } from '../src/core/model.ts'

/** One picture, sound or film of the gallery. */
export interface Sample {
  /** What it shows, for example `style: lofi`. */
  readonly title: string
  readonly input: JsonObject
}

// The container says nothing about what is in it.
const notShown = new Set(['format'])
// Short enough to look at many, long enough for an ending.
const seconds: Record<string, number> = { audio: 20, video: 4 }
const formats: Record<string, string> = { image: 'webp', audio: 'wav', video: 'mp4' }

/**
 * The samples of a model. A schema that gets a new style or theme gets a new sample.
 * @param pictures data: URIs for fields that take media
 */
export function sampleModel(model: Model, pictures: readonly string[]): Sample[] {
  const properties = model.inputSchema['properties'] as Record<string, JsonObject>
  const required = (model.inputSchema['required'] ?? []) as string[]
  const base: JsonObject = {}
  for (const [name, schema] of Object.entries(properties)) {
    const value = exampleOf(schema, pictures)
    if (required.includes(name) && value !== undefined) base[name] = value
  }
  const format = formats[model.modality]
  if (format && offers(properties['format'], format)) base['format'] = format
  const { duration, seed } = properties
  const length = seconds[model.modality]
  if (duration && length) base['duration'] = Math.min(length, Number(duration['maximum'] ?? length))
  if (seed) base['seed'] = 7

  const samples: Sample[] = []
  for (const [name, schema] of Object.entries(properties)) {
    for (const value of notShown.has(name) ? [] : choicesOf(schema)) {
      const title = `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`
      samples.push({ title, input: { ...base, [name]: value } })
    }
  }
  return samples.length > 0 ? samples : [{ title: 'as it comes', input: base }]
}

function choicesOf(schema: JsonObject): readonly JsonValue[] {
  if (Array.isArray(schema['enum'])) return schema['enum'].filter((value) => value !== 'auto')
  const isList = schema['type'] === 'array' && !isMedia(schema['items'])
  return isList && Array.isArray(schema['examples']) ? schema['examples'] : []
}

function exampleOf(schema: JsonObject, pictures: readonly string[]): JsonValue | undefined {
  if (isMedia(schema)) return pictures[0]
  if (schema['type'] === 'array' && isMedia(schema['items'])) return [...pictures]
  return Array.isArray(schema['examples']) ? schema['examples'][0] : schema['default']
}

function isMedia(schema: JsonValue | undefined): boolean {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) && schema['format'] === 'media'
}

function offers(schema: JsonObject | undefined, value: string): boolean {
  return Array.isArray(schema?.['enum']) && schema['enum'].includes(value)
}
