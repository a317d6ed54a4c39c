// Reads catalog files into models, or lists everything that is wrong with them by file, model and field.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import { loadAll } from 'js-yaml'
import { toViolations } from '../schema/violations.ts'
import { createModel, type TriedPrices } from './create-model.ts'
import { type CatalogEntry, type EngineKind, EntryError } from './entry.ts'
import type { Model } from './model.ts'
import { type Providers, resolveProviders } from './providers.ts'
import { createSchemaCompiler, type SchemaCompiler } from './schema.ts'

/** What is wrong with catalog files: a sentence, or a line for each of several problems. */
export class CatalogError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CatalogError'
  }
}

const extensions = new Set(['.yaml', '.yml', '.json'])
const mostProblemsShown = 20

/**
 * Loads catalog files and folders of them, in order; a folder's files in the order of their names.
 * @param kinds the engines that entries may name
 * @param tested files that tests found valid: their entries are not checked, their schemas are compiled when an input arrives, their prices and samples when they are requested
 * @throws CatalogError that lists what is wrong, each with file, model and field.
 */
export function loadCatalog(
  paths: readonly string[],
  kinds: readonly EngineKind[],
  tested: readonly string[] = [],
): readonly Model[] {
  const problems: string[] = []
  const models = new Map<string, Model>()
  const schemas = createSchemaCompiler(kinds)
  const checked: Shared = { schemas, tried: new Map(), providers: new Map(), kinds, isTested: false }
  const unchecked = { checkEntry: () => [], compileInput: schemas.compileInputLater }
  const trusted: Shared = { ...checked, schemas: { ...schemas, ...unchecked }, isTested: true }
  const files = paths
    .flatMap((path) => listFiles(path, problems))
    .map((file) => ({ file, content: readContent(file, problems) }))
  // First, because models may name providers of later files.
  for (const { file, content } of files) addProviders(file, content['providers'], checked, problems)
  for (const { file, content } of files) {
    for (const model of loadModels(file, content, tested.includes(file) ? trusted : checked, problems)) {
      if (models.has(model.id)) problems.push(`${file}: model "${model.id}": id is taken by an earlier model`)
      else models.set(model.id, model)
    }
  }
  problems.push(...findTakenAliases([...models.values()]))
  // A model that could not be read may be the successor of another.
  if (problems.length === 0) problems.push(...findWrongLives(models))
  if (problems.length > 0) {
    const hidden = problems.length - mostProblemsShown
    const shown = [...problems.slice(0, mostProblemsShown), ...(hidden > 0 ? [`and ${hidden} more`] : [])]
    throw new CatalogError(
      `The catalog is invalid:${shown.length === 1 ? ` ${shown[0]}.` : shown.map((problem) => `\n  ${problem}`).join('')}`,
    )
  }
  return [...models.values()]
}

/** A name means one model. */
function findTakenAliases(models: readonly Model[]): string[] {
  const owners = new Map(models.map(({ id }) => [id, id]))
  return models.flatMap(({ id, aliases }) =>
    aliases.flatMap((alias) => {
      const owner = owners.get(alias)
      owners.set(alias, owner ?? id)
      return owner === undefined ? [] : [`model "${id}": aliases: "${alias}" is a name of model "${owner}"`]
    }),
  )
}

/** A model does not end before it came out, and its successor is another model of the catalog. */
function findWrongLives(models: ReadonlyMap<string, Model>): string[] {
  return [...models.values()].flatMap(({ id, released, shutdownDate, replacedBy }) => {
    if (released !== null && shutdownDate !== null && shutdownDate < released)
      return [`model "${id}": shutdown_date is before released`]
    if (replacedBy === null) return []
    if (replacedBy === id) return [`model "${id}": replaced_by names the model itself`]
    return models.has(replacedBy) ? [] : [`model "${id}": replaced_by names "${replacedBy}", which the catalog lacks`]
  })
}

/**
 * The providers of catalog files, by name, whether or not a model names them. The files are those of a catalog that loads.
 */
export function loadProviders(paths: readonly string[]): Providers {
  const files = paths.flatMap((path) => listFiles(path, []))
  const named = files.flatMap((file) => Object.entries((readContent(file, [])['providers'] ?? {}) as JsonObject))
  return new Map(named.map(([name, provider]) => [name, { ...(provider as JsonObject), name }]))
}

function listFiles(path: string, problems: string[]): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
    return readdirSync(path)
      .filter((name) => extensions.has(extname(name)))
      .toSorted()
      .map((name) => join(path, name))
  } catch (error) {
    problems.push(`${path}: cannot be read (${describeFailure(error)})`)
    return []
  }
}

/** Compiled schemas and prices, shared by models where they are equal. */
interface Shared {
  readonly schemas: SchemaCompiler
  readonly tried: TriedPrices
  readonly providers: Providers
  readonly kinds: readonly EngineKind[]
  readonly isTested: boolean
}

function addProviders(
  file: string,
  written: JsonValue | undefined,
  { schemas, providers }: Shared,
  problems: string[],
): void {
  if (written === undefined) return
  const wrong = schemas.checkProviders(written)
  for (const { pointer, detail } of toViolations(wrong)) problems.push(`${file}: providers${toPath(pointer)} ${detail}`)
  if (wrong.length > 0) return
  for (const [name, provider] of Object.entries(written as Record<string, JsonObject>)) {
    if (providers.has(name)) problems.push(`${file}: providers.${name} is taken by an earlier file`)
    else providers.set(name, { ...provider, name })
  }
}

function loadModels(file: string, content: JsonObject, shared: Shared, problems: string[]): Model[] {
  const { schemas, tried, providers, kinds, isTested } = shared
  const { models: entries } = content
  if (!Array.isArray(entries)) {
    // A file may bring providers alone.
    if (entries !== undefined || !('providers' in content)) problems.push(`${file}: models must be a list`)
    return []
  }
  return (entries as unknown[]).flatMap((entry, index) => {
    const id: unknown = (entry as CatalogEntry | null)?.id
    const name = `${file}: model ${typeof id === 'string' ? `"${id}"` : `number ${index + 1}`}`
    const wrong = schemas.checkEntry(entry)
    if (wrong.length > 0) {
      for (const { pointer, detail } of toViolations(wrong)) problems.push(`${name}: ${toFieldName(pointer)} ${detail}`)
      return []
    }
    try {
      const written = entry as CatalogEntry
      const engine = kinds.find(({ kind }) => kind === written.engine.kind)
      const model = createModel(
        { ...written, engine: resolveProviders(written.engine, providers) },
        file,
        schemas,
        tried,
        { isTested, reproducibleAs: engine?.reproducibleAs ?? null },
      )
      const fault = engine?.findFault?.(model.engine)
      if (fault) throw new EntryError(`engine.${fault.field}`, fault.words)
      return [model]
    } catch (error) {
      if (!(error instanceof EntryError)) throw error
      problems.push(`${name}: ${error.field} ${error.message}`)
      return []
    }
  })
}

/** The content of a file; empty, with a problem, if it has none. */
function readContent(file: string, problems: string[]): JsonObject {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    problems.push(`${file}: cannot be read (${describeFailure(error)})`)
    return { models: [] }
  }
  const { content, wrong } = extname(file) === '.json' ? readJson(text) : readYaml(text)
  if (wrong !== null) {
    problems.push(`${file}: ${wrong}`)
    return { models: [] }
  }
  return typeof content === 'object' && content !== null ? (content as JsonObject) : {}
}

/** For example `no such file or directory`. */
function describeFailure(error: unknown): string {
  const { errno } = error as NodeJS.ErrnoException
  return errno === undefined ? String(error) : getSystemErrorMessage(errno)
}

interface Parsed {
  readonly content: unknown
  /** Why and where the file could not be parsed; null if it was. */
  readonly wrong: string | null
}

/**
 * JSON is YAML too, but the YAML parser is much slower. What the first refuses goes to the second, which reads it or
 * says where it is wrong.
 */
function readJson(text: string): Parsed {
  try {
    const content: unknown = JSON.parse(text)
    const repeated = findRepeatedKey(text)
    return { content, wrong: repeated === null ? null : `has the key ${repeated.key} twice (line ${repeated.line})` }
  } catch {
    return readYaml(text)
  }
}

/** The first duplicate key in an object of a JSON text; `JSON.parse` would silently take the last of them. */
function findRepeatedKey(text: string): { key: string; line: number } | null {
  const objects: Set<string>[] = []
  // A string before a colon is a key.
  for (const { 0: token, 1: key, index } of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}]/g)) {
    if (token === '{') objects.push(new Set())
    else if (token === '}') objects.pop()
    else if (key !== undefined && token !== key) {
      const name = JSON.parse(key) as string
      const keys = objects.at(-1)
      if (keys?.has(name)) return { key, line: text.slice(0, index).split('\n').length }
      keys?.add(name)
    }
  }
  return null
}

function readYaml(text: string): Parsed {
  try {
    const [content, ...others] = loadAll(text)
    return { content, wrong: others.length > 0 ? 'has more than one document' : null }
  } catch (error) {
    // The line and column of what is wrong; further lines have an excerpt of the file.
    const [first = ''] = (error as Error).message.split('\n', 1)
    return { content: null, wrong: `is not YAML: ${first.replace(/\((\d+):(\d+)\)$/, '(line $1, column $2)')}` }
  }
}

function toFieldName(pointer: string): string {
  return pointer.slice(1).replaceAll('/', '.') || 'the entry'
}

function toPath(pointer: string): string {
  return pointer.replaceAll('/', '.')
}
