// The input as a provider gets it: with the fixed fields of the model, and its media as data: URIs or in another form that it accepts.
import { readFile } from 'node:fs/promises'
import { findContentType } from '@mediagen/engine/content-types.ts'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import type { Preparation } from '../backend.ts'

/** The type of a fetched file, which is named by its content. */
export function toContentType(path: string): string {
  return findContentType(path) ?? 'application/octet-stream'
}

/** A file as a `data:` URI. */
export async function toDataUri(path: string): Promise<string> {
  return `data:${toContentType(path)};base64,${await readFile(path, 'base64')}`
}

/**
 * The input with the model's fixed fields.
 * @param convert turns the file of a media field into its value
 */
export async function completeInput(
  { run, spec }: Preparation,
  convert: (path: string, pointer: string) => Promise<JsonValue> = toDataUri,
): Promise<JsonObject> {
  const input = structuredClone({ ...run.input, ...spec.defaults })
  for (const [pointer, path] of await run.media()) setPointer(input, pointer, await convert(path, pointer))
  return input
}

/** Sets the value at a JSON pointer; false if the pointer leads nowhere. */
export function setPointer(root: JsonObject, pointer: string, value: JsonValue): boolean {
  const tokens = pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = tokens.pop()
  let node: JsonValue | undefined = root
  for (const token of tokens) node = isContainer(node) ? (node as JsonObject)[token] : undefined
  if (last === undefined || !isContainer(node)) return false
  ;(node as JsonObject)[last] = value
  return true
}

function isContainer(value: JsonValue | undefined): boolean {
  return typeof value === 'object' && value !== null
}
