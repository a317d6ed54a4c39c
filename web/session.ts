// What this browser tab remembers: the API key, drafts of inputs, and which input made which job. Nothing outlives the tab.
import type { MediaFacts } from './media-file.ts'
import type { Json, JsonObject } from './records.ts'
import { takeKey } from './route.ts'

const keyName = 'mediagen.key'
const inputsName = 'mediagen.inputs'
const mostInputs = 100
// Longer texts are files; the session's storage is not the place for them.
const longestText = 20_000

/** The key of this tab; one that came in the address is taken out of it and kept. */
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

/** What was entered for a model so far. */
export function readDraft(model: string): JsonObject | undefined {
  return drafts.get(model)
}

export function keepDraft(model: string, input: JsonObject): void {
  drafts.set(model, input)
}

/** The input that made a job, without its files; null when another tab made it. */
export function readInput(jobId: string): JsonObject | null {
  return readInputs()[jobId] ?? null
}

export function keepInput(jobId: string, input: JsonObject): void {
  const entries = [...Object.entries(readInputs()), [jobId, withoutFiles(input)] as const].slice(-mostInputs)
  try {
    sessionStorage.setItem(inputsName, JSON.stringify(Object.fromEntries(entries)))
  } catch {
    // Full: a convenience is lost, nothing else.
  }
}

/** The words by which a person knows the job again; null when none are known. */
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

/** Keeps what is known of a file, by the reference that an input holds. */
export function rememberMedia(reference: string, facts: MediaFacts): void {
  knownMedia.set(reference, facts)
}

export function recallMedia(reference: string): MediaFacts | undefined {
  return knownMedia.get(reference)
}

/** Leaves a reference to a file for the next time that the form of a model opens. */
export function handMedia(model: string, uri: string): void {
  handedMedia.set(model, uri)
}

/** The file that was left for a model; given once. */
export function takeMedia(model: string): string | undefined {
  const uri = handedMedia.get(model)
  handedMedia.delete(model)
  return uri
}
