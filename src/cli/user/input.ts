// The input of a generation from the command line: a JSON file, single values, and files that are uploaded.
import { constants, openAsBlob, readFileSync } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Input, type Json, type MediagenClient, Refused } from '@mediagen/client/client.ts'
import { StartupError } from '../../core/errors.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { say } from './print.ts'
import { findSchema, readJsonOrText, readValue, type Schema } from './schema.ts'
import { describeFileError } from './words.ts'

/** The options that make an input. */
export interface InputOptions {
  readonly prompt?: string
  /** Path of a JSON file; `-` for standard input. */
  readonly input?: string
  /** `name=value`, `name.inner=value`, `name=@file`, or `name+=value` for one more item of a list. */
  readonly set?: readonly string[]
  /** `name=value,value`: the values that a field has in turn. */
  readonly vary?: readonly string[]
  /** Number of seeds. */
  readonly count?: number
}

/** The options of `mediagen generate`. */
export interface GenerateOptions extends InputOptions {
  readonly output?: string
  readonly maxCredits?: number
  readonly detach?: boolean
  readonly idempotencyKey?: string
  readonly label?: Readonly<Record<string, string>>
  readonly webhookUrl?: string
  readonly json?: boolean
}

// Refusals that are about one file.
const ofFiles: ReadonlySet<string> = new Set(['invalid_media', 'payload_too_large'])

type Draft = { [name: string]: Json | Draft }

/**
 * Builds the input: the file first, then the prompt, then single values in their order. The model's schema says what a value is
 * that could be text and something else.
 * @throws StartupError that names the option that is wrong
 */
export async function buildInput(
  model: string,
  options: InputOptions,
  client: Pick<MediagenClient, 'upload' | 'model'>,
): Promise<Input> {
  let schema: Promise<Schema> | undefined
  const draft = options.input === undefined ? {} : await readJson(options.input)
  if (options.prompt !== undefined) draft['prompt'] = options.prompt
  for (const setting of options.set ?? []) {
    const [, path, more = '', written = ''] = /^([^=]+?)(\+?)=(.*)$/s.exec(setting) ?? []
    if (path === undefined) throw new StartupError(`--set ${setting} must have the form name=value.`)
    const [names, isItem] = [path.split('.'), more === '+']
    let value = readJsonOrText(written)
    if (written.startsWith('@')) value = await upload(written.slice(1), client)
    else if (typeof value !== 'string')
      value = readValue(await (schema ??= askForSchema(model, client)), names, isItem, written)
    put(draft, names, value, isItem, setting)
  }
  return draft
}

/** The schema of the model; one that says nothing if there is no such model, or the key may not read it: the start says so. */
export async function askForSchema(model: string, client: Pick<MediagenClient, 'model'>): Promise<Schema> {
  try {
    return findSchema((await client.model(model)).openapi)
  } catch (error) {
    if (error instanceof Refused) return {}
    throw error
  }
}

async function readJson(path: string): Promise<Draft> {
  const name = path === '-' ? 'Standard input' : path
  let value: unknown
  try {
    value = JSON.parse(path === '-' ? await text(process.stdin) : readFileSync(path, 'utf8'))
  } catch (error) {
    throw new StartupError(`${name} cannot be read as JSON: ${describeFileError(error)}.`, { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new StartupError(`${name} must hold a JSON object: the input of the model.`)
  return value as Draft
}

/** Uploads a file, and returns its id. @throws StartupError that names it */
export async function upload(path: string, client: Pick<MediagenClient, 'upload'>): Promise<string> {
  const content = await openFile(path)
  say(`uploading ${escapeHidden(basename(path))}\n`, process.stderr)
  const file = await client.upload(content).catch((error: unknown) => {
    if (!(error instanceof Refused) || !ofFiles.has(error.code)) throw error
    throw new StartupError(`${path} cannot be used: ${error.message}`, { cause: error })
  })
  return file.file_id
}

/** The content of a file, read as it is sent. @throws StartupError that names the file */
export async function openFile(path: string): Promise<Blob> {
  try {
    await access(path, constants.R_OK)
    // Opening a pipe would wait for its writer.
    if (!(await stat(path)).isFile()) throw new Error('it is not a file')
    return await openAsBlob(path)
  } catch (error) {
    throw new StartupError(`${path} cannot be read: ${describeFileError(error)}.`, { cause: error })
  }
}

function put(
  draft: Draft,
  [name = '', ...inner]: readonly string[],
  value: Json,
  isItem: boolean,
  setting: string,
): void {
  const there = Object.hasOwn(draft, name) ? draft[name] : undefined
  if (inner.length === 0) {
    if (isItem && there !== undefined && !Array.isArray(there))
      throw new StartupError(`--set ${setting} adds an item to ${name}, which is not a list.`)
    draft[name] = isItem ? [...((there as Json[] | undefined) ?? []), value] : value
    return
  }
  const within = there === undefined ? (draft[name] = {}) : there
  if (typeof within !== 'object' || within === null || Array.isArray(within))
    throw new StartupError(`--set ${setting} puts a value into ${name}, which is not an object.`)
  put(within, inner, value, isItem, setting)
}
