// What one model takes, for people at a terminal: its fields from the schema of its input, its price and an example.
import type { Json, ModelDetail } from '@mediagen/client/client.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { findSchema, type Schema } from './schema.ts'

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  array: 'JSON list',
  object: 'JSON object',
}
const widestName = 24

/** The description of a model, its lines as long as a terminal of `columns` is wide. */
export function describeModel(model: ModelDetail, columns: number): string {
  const { properties = {}, required = [] } = findSchema(model.openapi)
  const width = Math.min(widestName, Math.max(0, ...Object.keys(properties).map((name) => name.length)))
  const fields = Object.entries(properties).map(([key, field]) => {
    const name = escapeHidden(key)
    const said = [describeField(field, required.includes(name)), field.description?.trim()]
    const text = [...said, ...describeOptions(field)].filter(Boolean)
    const lines = text.flatMap((one) => wrap(one as string, columns - width - 4))
    const padded = lines.map((line, index) => `  ${(index === 0 ? name : '').padEnd(width)}  ${line}`)
    return name.length > width ? `  ${name}\n${padded.join('\n').replace(name, ' '.repeat(width))}` : padded.join('\n')
  })
  const head = [
    escapeHidden(`${model.id} (${model.name})`),
    ...model.description.split('\n').flatMap((line) => wrap(line, columns)),
    ...wrap(`Price: ${model.pricing.summary}`, columns),
  ]
  const notReady = model.unready_reason === null ? [] : [`Not ready: ${escapeHidden(model.unready_reason)}`]
  const lifetime = [
    model.version && `Version: ${model.version}${model.released ? `, released on ${model.released}` : ''}`,
    model.shutdown_date && describeEnd(model.shutdown_date, model.replaced_by),
  ].flatMap((line) => (line ? [escapeHidden(line)] : []))
  const example = `Example:\n  ${escapeHidden(writeExample(model.id, properties, required))}`
  return `${[...head, ...lifetime, ...notReady].join('\n')}\n\nFields:\n${fields.join('\n')}\n\n${example}\n`
}

/** For example `Ends on 2026-12-01; use acme/paint-2 instead`. */
function describeEnd(day: string, successor: string | null): string {
  return `Ends on ${day} (UTC)${successor === null ? '' : `; use ${successor} instead`}`
}

function describeField(field: Schema, isRequired: boolean): string {
  const fallback = field.default === undefined ? '' : `default ${spell(field.default)}`
  const words = [describeKind(field), isRequired ? 'required' : fallback, describeBounds(field)].filter(Boolean)
  return words.join(field.enum ? '; ' : ', ')
}

function describeKind(field: Schema): string {
  if (field.enum) return `one of: ${field.enum.map(spell).join(', ')}`
  if (field.format === 'media') return '@file, a URL, or the id of an upload'
  if (field.items?.format === 'media') return 'one or more of: @file, a URL, the id of an upload'
  const types = [field.type ?? []].flat().map((type) => kinds[type] ?? type)
  return types.join(' or ') || 'JSON'
}

/** A line for each option that has a title other than its name, or an explanation. */
function describeOptions(field: Schema): string[] {
  const titles = new Map(Object.entries(field['x-enum-titles'] ?? {}))
  const explanations = new Map(Object.entries(field['x-enum-descriptions'] ?? {}))
  return (field.enum ?? []).flatMap((option) => {
    const name = spell(option)
    const title = titles.get(name)?.toLowerCase() === name.toLowerCase() ? undefined : titles.get(name)
    const words = [title && `${title}.`, explanations.get(name)].filter(Boolean)
    return words.length > 0 ? [`- ${name}: ${words.join(' ')}`] : []
  })
}

function describeBounds(field: Schema): string {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, multipleOf } = field
  if (field.format === 'media') return ''
  return [
    range(minimum, maximum, ''),
    multipleOf !== undefined && multipleOf !== 1 && `a multiple of ${multipleOf}`,
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
  ]
    .filter(Boolean)
    .join(', ')
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return ''
  if (least === undefined) return `at most ${most}${unit}`
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`
}

/** A command with every required field. */
function writeExample(id: string, properties: Readonly<Record<string, Schema>>, required: readonly string[]): string {
  const options = required.flatMap((name) => {
    const field = properties[name] ?? {}
    if (name === 'prompt') return ['-p', quote(spell(field.examples?.[0] ?? 'a walrus in the snow'))]
    if (field.format === 'media') return ['--set', quote(`${name}=@${fileFor(field)}`)]
    if (field.items?.format === 'media')
      return [1, 2].flatMap((n) => ['--set', quote(`${name}+=@${n}-${fileFor(field.items)}`)])
    const value = field.examples?.[0] ?? field.default ?? field.enum?.[0] ?? field.minimum ?? 'text'
    return ['--set', quote(`${name}=${spell(value)}`)]
  })
  return ['mediagen generate', id, ...options].join(' ')
}

function fileFor({ contentMediaType = '' }: Schema = {}): string {
  return { video: 'film.mp4', audio: 'sound.wav' }[contentMediaType.split('/')[0] ?? ''] ?? 'picture.png'
}

function spell(value: Json): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value)
}

/** A word of a shell command. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Lines of at most `width` characters, broken between words. */
function wrap(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}
