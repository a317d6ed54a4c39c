// The session of this tab: the API key, drafts of inputs, and which input started which job. It ends with the tab.
import type { MediaFacts } from './media-file.ts'
import type { Json, JsonObject } from './records.ts'
import { takeKey } from './route.ts'

const keyName = 'mediagen.key'
const inputsName = 'mediagen.inputs'
const mostInputs = 100
// Longer texts are files and are not stored in the session.
const longestText = 20_000

/** The key of this tab; a key in the URL is moved to the session. */
export function readKey(): string | null {
  const arrived = takeKey(location.hash)
  if (arrived) {
    history.replaceState(null, '', location.pathname + location.search + (arrived.rest || '#/'))
    if (arrived.key) keepKey(arrived.key)
  }
  return sessionStorage.getItem(keyName)
}

export function keepKey(key: string): void {
  sessionStorage.setItem(keyName, key)
}

export function forgetEverything(): void {
  sessionStorage.removeItem(keyName)
  sessionStorage.removeItem(inputsName)
  drafts.clear()
  handedMedia.clear()
  knownMedia.clear()
}

const drafts = new Map<string, JsonObject>()
const handedMedia = new Map<string, string>()
const knownMedia = new Map<string, MediaFacts>()

/** The draft of a model's input. */
export function readDraft(model: string): JsonObject | undefined {
  return drafts.get(model)
}

export function keepDraft(model: string, input: JsonObject): void {
  drafts.set(model, input)
}

/** The input of a job, without its files; null if another tab started it. */
export function readInput(jobId: string): JsonObject | null {
  return readInputs()[jobId] ?? null
}

export function keepInput(jobId: string, input: JsonObject): void {
  const entries = [...Object.entries(readInputs()), [jobId, withoutFiles(input)] as const].slice(-mostInputs)
  try {
    sessionStorage.setItem(inputsName, JSON.stringify(Object.fromEntries(entries)))
  } catch {
    // If the storage is full, only a convenience is lost.
  }
}

/** A text by which the user recognises the job; null if none is known. */
export function describeInput(jobId: string): string | null {
  const input = readInput(jobId)
  const words = input?.['prompt'] ?? input?.['title'] ?? input?.['text']
  if (typeof words === 'string' && words !== '') return words
  const files = Object.values(input ?? {}).flatMap((value) => (Array.isArray(value) ? value : [value]))
  const names = files.flatMap((value) => (typeof value === 'string' ? (knownMedia.get(value)?.name ?? []) : []))
  return names.length > 2 ? `${names[0]} and ${names.length - 1} more` : names.join(' and ') || null
}

function readInputs(): Record<string, JsonObject> {
  try {
    return JSON.parse(sessionStorage.getItem(inputsName) ?? '{}') as Record<string, JsonObject>
  } catch {
    return {}
  }
}

function withoutFiles(input: JsonObject): JsonObject {
  const kept = Object.entries(input).filter(
    ([, value]: [string, Json]) => typeof value !== 'string' || value.length <= longestText,
  )
  return Object.fromEntries(kept)
}

/** Stores facts about a file, by its reference. */
export function rememberMedia(reference: string, facts: MediaFacts): void {
  knownMedia.set(reference, facts)
}

export function recallMedia(reference: string): MediaFacts | undefined {
  return knownMedia.get(reference)
}

/** Stores a file reference for the next time that a model's form opens. */
export function handMedia(model: string, uri: string): void {
  handedMedia.set(model, uri)
}

/** The file stored for a model; returned once. */
export function takeMedia(model: string): string | undefined {
  const uri = handedMedia.get(model)
  handedMedia.delete(model)
  return uri
}
