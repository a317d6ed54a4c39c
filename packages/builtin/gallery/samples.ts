// What the gallery asks of a model: its example input as it comes, and once for each value of every choice that its schema offers.

import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { type Entry, isMedia } from '../catalog/entries.ts'
import { headlines, scripts } from './writings.ts'

/** One picture, sound or film of the gallery. */
export interface Sample {
  /** The field whose choices it is one of; empty for the model as it comes. */
  readonly group: string
  /** What it shows, for example `lofi`. */
  readonly title: string
  readonly input: JsonObject
}

// The difference is not visible.
const notShown = new Set(['fps'])
// Small and short enough to make many, long enough for an ending.
const small: Record<string, JsonObject> = {
  image: {},
  audio: { duration: 20 },
  video: { duration: 4, seconds_each: 2, width: 640, height: 360 },
}
// Formats that show more than the default: what is heard can be drawn.
const formats: Record<string, string> = { image: 'webp', audio: 'wav', video: 'mp4' }
// Where the example would look alike for all choices.
const telling: Record<string, JsonObject> = {
  language: { title: '今日の直し、骨と返事' },
  transition: { motion: false },
}

// Numbers whose extremes are shown.
const scales: Record<string, readonly JsonValue[]> = { sharpness: [0, 0.5, 1] }

const serifTheme = 'editorial'

/**
 * The samples of a model. A schema that gets a new style or theme gets a new sample.
 * @param pictures data: URIs for fields that take media
 */
export function sampleModel(model: Entry, pictures: readonly string[]): Sample[] {
  const properties = model.input['properties'] as Record<string, JsonObject>
  const required = (model.input['required'] ?? []) as string[]
  const known = (fields: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => properties[name] !== undefined))
  const base: JsonObject = {}
  for (const [name, schema] of Object.entries(properties)) {
    const value = exampleOf(schema, pictures)
    if (required.includes(name) && value !== undefined) base[name] = value
  }
  const samples: Sample[] = [{ group: '', title: 'as it comes', input: { ...base } }]

  if (model.modality === 'image')
    for (const [name, schema] of Object.entries(properties))
      if (isPlainText(schema)) base[name] ??= exampleOf(schema, pictures) ?? ''
  const seed = properties['seed'] ? { seed: 7 } : {}
  const varied = { ...base, ...seed, ...known(small[model.modality] ?? {}) }
  const format = offered(properties['format'], formats[model.modality])
  for (const [name, schema] of Object.entries(properties)) {
    const choices = scales[name] ?? choicesOf(schema)
    for (const value of notShown.has(name) ? [] : choices) {
      const input = { ...varied, ...format, ...known(telling[name] ?? {}), [name]: value }
      samples.push({ group: name, title: toTitle(value), input })
    }
  }
  if (properties['badge'] && properties['theme'])
    samples.push(...sampleWords({ ...varied, ...format }, choicesOf(properties['theme'])))
  return samples
}

/** A choice in words: a list of steps with their settings, anything else unchanged. */
function toTitle(value: JsonValue): string {
  if (!Array.isArray(value)) return typeof value === 'string' ? value : JSON.stringify(value)
  const steps = value.flatMap((step) => (typeof step === 'object' && step !== null ? Object.entries(step) : []))
  return steps
    .map(
      ([name, settings]) => `${name} ${JSON.stringify(settings).replaceAll(/[{}"]/g, '').replaceAll(/[:,]/g, '$& ')}`,
    )
    .join(', ')
}

/** Words in each script, in a theme without serifs and one that has some; headlines of each length, in turn in all themes. */
function sampleWords(base: JsonObject, themes: readonly JsonValue[]): Sample[] {
  const inTurn = (index: number): JsonValue => themes[index % themes.length] ?? null
  return [
    ...Object.entries(scripts).flatMap(([name, writing], index) =>
      [...new Set([inTurn(index), serifTheme])].map((theme) => ({
        group: 'script',
        title: `${name}, ${String(theme)}`,
        input: { ...base, ...writing, theme },
      })),
    ),
    ...Object.entries(headlines).flatMap(([name, title], index) =>
      ['story', 'square', 'banner'].map((size, step) => ({
        group: 'headline',
        title: `${name}, ${size}`,
        input: { ...base, title, size, theme: inTurn(index + step) },
      })),
    ),
  ]
}

function choicesOf(schema: JsonObject): readonly JsonValue[] {
  if (Array.isArray(schema['enum'])) return schema['enum'].filter((value) => value !== 'auto')
  const { type, items } = schema
  if (type !== 'array' || typeof items !== 'object' || items === null || Array.isArray(items) || isMedia(items))
    return []
  // Of a list of steps: each step by itself, then some together.
  const steps = Object.entries((items['properties'] ?? {}) as Record<string, JsonObject>)
  const single = steps.flatMap(([name, step]) =>
    Array.isArray(step['examples']) ? step['examples'].map((example) => [{ [name]: example }]) : [],
  )
  return [...single, ...(Array.isArray(schema['examples']) ? schema['examples'] : [])]
}

function exampleOf(schema: JsonObject, pictures: readonly string[]): JsonValue | undefined {
  if (isMedia(schema)) return pictures[0]
  if (schema['type'] === 'array' && isMedia(schema['items'])) return [...pictures]
  return Array.isArray(schema['examples']) ? schema['examples'][0] : schema['default']
}

function isPlainText({ type, enum: choices, pattern, format }: JsonObject): boolean {
  return type === 'string' && choices === undefined && pattern === undefined && format === undefined
}

function offered(schema: JsonObject | undefined, value: string | undefined): JsonObject {
  return value !== undefined && Array.isArray(schema?.['enum']) && schema['enum'].includes(value)
    ? { format: value }
    : {}
}
