// Finds the files in the answer of a provider.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import type { Output } from '../backend.ts'
import { isObject } from '../connection.ts'

const deepest = 6
// Fields in which a provider repeats or describes the input.
const wordFields = /^(inputs?|request|payload|parameters|arguments|logs?)$/i
const wordsWithin = /prompt|text|caption|description|title|message/i
// Fields of results with files: objects with a URL, or the name of a kind of media.
const fileFields = /^(urls?|(image|video|audio|file|output)s?)$/i
// Less usual names, which fields of inputs have, too.
const urlFields = /^(image|video|audio|file|output)s?_urls?$/i

/** The URLs and `data:` URIs of an output, in order; other texts are no files. */
export function findOutputs(output: JsonValue | undefined): Output[] {
  return walk(output, () => true, '', 0)
}

/** The files of a result that may hold texts as well: those in the fields where files are. */
export function findFiles(result: JsonValue | undefined): Output[] {
  const files = walk(result, (field) => fileFields.test(field), '', 0)
  return files.length > 0 ? files : walk(result, (field) => urlFields.test(field), '', 0)
}

/** `field` is the name of the nearest field that holds the value. */
function walk(
  value: JsonValue | undefined,
  holdsFiles: (field: string) => boolean,
  field: string,
  depth: number,
): Output[] {
  if (typeof value === 'string') return holdsFiles(field) ? toOutputs(value) : []
  if (depth > deepest) return []
  if (Array.isArray(value)) return value.flatMap((item) => walk(item, holdsFiles, field, depth + 1))
  const fields = isObject(value) ? Object.entries(value).filter(([name]) => !holdsWords(name)) : []
  return fields.flatMap(([name, item]) => walk(item, holdsFiles, name, depth + 1))
}

function holdsWords(field: string): boolean {
  return wordFields.test(field) || wordsWithin.test(field)
}

function toOutputs(text: string): Output[] {
  // A text of words is no URL, also if it begins like one.
  if (/^https?:\/\//.test(text)) return /\s/.test(text) || !URL.canParse(text) ? [] : [{ url: text }]
  const [head = ''] = text.slice(0, 200).split(',', 1)
  if (!head.startsWith('data:') || !head.endsWith(';base64') || /\s/.test(head)) return []
  return decodeOutput(text).map((output) => ({ ...output, uri: text }))
}

/** Drops outputs that are texts of the input, which a provider may repeat anywhere. */
export function withoutInput(outputs: readonly Output[], input: JsonValue): Output[] {
  const texts = listTexts(input)
  return outputs.filter((output) => {
    const found = 'url' in output ? output.url : output.uri
    return found === undefined || !texts.some((text) => text.includes(found))
  })
}

function listTexts(value: JsonValue): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(listTexts)
}

/** Decodes base64; no output if it is empty. */
export function decodeOutput(base64: JsonValue | undefined): Output[] {
  if (typeof base64 !== 'string') return []
  const data = Buffer.from(base64.startsWith('data:') ? base64.slice(base64.indexOf(',') + 1) : base64, 'base64')
  return data.length > 0 ? [{ data }] : []
}

// The server measures these on the delivered files and ignores what a provider reports.
const measured: ReadonlySet<string> = new Set(['images', 'seconds', 'megapixels'])
// More than any provider reports.
const mostNumbers = 100
// What a price can name.
const usageName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

/** The numbers of an object, as usage: a hundred at most. */
export function toNumbers(value: JsonValue | undefined): Record<string, number> {
  const numbers: [string, number][] = []
  for (const name in isObject(value) ? value : {}) {
    const number = (value as JsonObject)[name]
    if (typeof number !== 'number' || !Number.isFinite(number) || number < 0) continue
    if (!usageName.test(name) || measured.has(name) || name in Object.prototype) continue
    if (numbers.push([name, number]) === mostNumbers) break
  }
  return Object.fromEntries(numbers)
}
