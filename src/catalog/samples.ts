// Samples of a model: outputs with the inputs that make them, as its entry in a catalog file names them.
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { findContentType, mediaExtensions } from '@mediagen/engine/content-types.ts'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { findInexact, inexactNumber } from '@mediagen/engine/exact-numbers.ts'
import { isMediaReference } from '../files/media/reference.ts'
import { type CatalogEntry, EntryError, type WrittenSample } from './entry.ts'
import { createMediaFinder } from './media-fields.ts'
import type { Model, Sample } from './model.ts'

const mostFileBytes = 20 * 1024 ** 2
// Embedded in the inputs of samples, which the details of a model carry.
const mostEmbeddedBytes = 64 * 1024
const longestTitle = 200

/** The samples of a model, and the files that are served for them. */
export interface Samples {
  readonly samples: readonly Sample[]
  /** Paths by the names under which they are served. */
  readonly files: ReadonlyMap<string, string>
  /** The input schema, whose `x-enum-samples` name URLs instead of files. */
  readonly inputSchema: JsonObject
}

/**
 * Reads the samples of an entry.
 * @param folder that of the catalog file, which names of files are relative to
 * @param checkInput validates inputs; null if tests did
 * @throws EntryError for what is missing, too large or not media, and for an input that the model would refuse
 */
export function readSamples(entry: CatalogEntry, folder: string, checkInput: Model['checkInput'] | null): Samples {
  const files = new Map<string, string>()
  const findMedia = createMediaFinder(entry.input, () => true)

  /** The URL of what an entry names: `https:` as it is, a file under a name that changes with its content. */
  function publish(written: string, field: string): string {
    const extension = extensionOf(written)
    if (findContentType(extension) === null)
      throw new EntryError(field, `names "${written}", whose name must end with one of .${mediaExtensions.join(', .')}`)
    if (isHttps(written)) return written
    const path = resolve(folder, written)
    const digest = createHash('sha256')
      .update(readFile(path, field, mostFileBytes))
      .digest('hex')
    const name = `${digest.slice(0, 32)}.${extension}`
    files.set(name, path)
    return `/samples/${name}`
  }

  /** The input with the files that it names embedded as `data:` URIs. */
  function embed(input: JsonObject, field: string): JsonObject {
    const whole = structuredClone(input)
    for (const { pointer, reference } of findMedia(input)) {
      if (isMediaReference(reference)) continue
      const type = findContentType(reference)
      if (type === null)
        throw new EntryError(
          `${field}${pointer.replaceAll('/', '.')}`,
          `is neither a reference to media nor the name of a media file`,
        )
      const content = readFile(resolve(folder, reference), `${field}${pointer.replaceAll('/', '.')}`, mostEmbeddedBytes)
      put(whole, pointer, `data:${type};base64,${content.toString('base64')}`)
    }
    return whole
  }

  function read(written: WrittenSample, index: number): Sample {
    const field = `samples.${index}`
    const input = embed(written.input, `${field}.input`)
    const [inexact] = findInexact(input, '.input')
    if (inexact !== undefined) throw new EntryError(field + inexact.replaceAll('/', '.'), inexactNumber)
    const checked = checkInput?.(input)
    if (checked?.ok === false) {
      const [first] = checked.violations
      throw new EntryError(`${field}${first?.pointer.replaceAll('/', '.') ?? ''}`, first?.detail ?? 'is not valid')
    }
    const url = publish(written.file, `${field}.file`)
    return {
      title: written.title ?? describe(entry, input),
      input,
      url,
      contentType: findContentType(extensionOf(url)) as string,
      width: written.width ?? null,
      height: written.height ?? null,
      durationSeconds: written.duration_seconds ?? null,
      previewUrl: written.preview === undefined ? null : publish(written.preview, `${field}.preview`),
    }
  }

  const samples = (entry.samples ?? []).map(read)
  return { samples, inputSchema: publishOptions(entry.input, publish), files }
}

/** The schema with URLs for the files of `x-enum-samples`; the same object if it has none. */
function publishOptions(schema: JsonObject, publish: (written: string, field: string) => string): JsonObject {
  const properties = Object.entries(schema['properties'] as Record<string, JsonObject>)
  if (!properties.some(([, property]) => property['x-enum-samples'])) return schema
  const published = properties.map(([name, property]) => {
    const written = property['x-enum-samples']
    if (!written) return [name, property] as const
    const urls = Object.entries(written as JsonObject).map(([option, file]) => {
      const field = `input.properties.${name}.x-enum-samples.${option}`
      if (typeof file !== 'string') throw new EntryError(field, 'must be the name of a file or an https: URL')
      return [option, publish(file, field)] as const
    })
    return [name, { ...property, 'x-enum-samples': Object.fromEntries(urls) }] as const
  })
  return { ...schema, properties: Object.fromEntries(published) }
}

/** What a sample shows, for those who do not see it: the words that its input requires, else the name of the model. */
function describe({ input: schema, name }: CatalogEntry, input: JsonObject): string {
  const required = (schema['required'] ?? []) as string[]
  const words = required
    .map((field) => input[field])
    .find((value) => typeof value === 'string' && !isMediaReference(value))
  return typeof words === 'string' ? words.slice(0, longestTitle) : name
}

function readFile(path: string, field: string, mostBytes: number): Buffer {
  try {
    const { size } = statSync(path)
    if (size <= mostBytes) return readFileSync(path)
    throw new EntryError(field, `is larger than ${mostBytes / 1024} kB: ${path}`)
  } catch (error) {
    if (error instanceof EntryError) throw error
    throw new EntryError(field, `names ${path}, which cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** Without the dot and what follows the path of a URL. */
function extensionOf(written: string): string {
  return extname(written.replace(/[?#].*$/, '')).slice(1)
}

function isHttps(written: string): boolean {
  return written.startsWith('https://') && URL.canParse(written)
}

/** Replaces what a JSON pointer names. */
function put(root: JsonObject, pointer: string, value: JsonValue): void {
  const tokens = pointer.split('/').slice(1)
  const last = tokens.pop() as string
  let parent = root as Record<string, JsonValue>
  for (const token of tokens) parent = parent[unescape(token)] as Record<string, JsonValue>
  parent[unescape(last)] = value
}

function unescape(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}
