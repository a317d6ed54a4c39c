// What the console remembers: the API key and drafts of inputs. All tabs share the key. It ends with the last tab, unless the
// user wants this device to remember it.
import type { MediaFacts } from './media-file.ts'
import type { JobRecord, Json, JsonObject, ModelRecord } from './records.ts'
import { takeKey } from './route.ts'

// Pages with keys of another kind have names of their own.
const scope = (typeof document === 'undefined' ? null : document.documentElement.dataset['session']) ?? 'mediagen'
const keyName = `${scope}.key`
const sinceName = `${scope}.since`
const signOutsName = `${scope}.signed-out`
const draftsName = `${scope}.drafts`
const mostDrafts = 20
const mostSignOuts = 20
// Longer texts are files and are not stored.
const longestText = 20_000
// Other tabs answer at once or not at all.
const answerMs = 150

type Message = { readonly ask: true } | { readonly key: string } | { readonly signedOut: string | null }

const tabs = new BroadcastChannel(scope)

/** Where this browser keeps it: on the device if the user wants that, else in this tab. */
function storage(): Storage {
  return isRemembered() ? localStorage : sessionStorage
}

/** Whether the user wants this device to remember. */
export function isRemembered(): boolean {
  return localStorage.getItem(keyName) !== null
}

/** Takes the key out of the URL; null if there is none. */
export function takeArrivedKey(): string | null {
  const arrived = takeKey(location.hash)
  if (!arrived) return null
  history.replaceState(null, '', location.pathname + location.search + (arrived.rest || '#/'))
  return arrived.key || null
}

/** The key of this tab, of this device or of another tab. */
export async function findKey(): Promise<string | null> {
  return readKey() ?? (await askOtherTabs())
}

/** The key of this tab or of this device. A tab that was elsewhere when its key was signed out forgets it now. */
export function readKey(): string | null {
  const own = sessionStorage.getItem(keyName)
  if (own !== null && signedOutAt(own) >= Number(sessionStorage.getItem(sinceName))) clear(own)
  return sessionStorage.getItem(keyName) ?? localStorage.getItem(keyName)
}

/** Keeps a key for this tab, from now on. */
function holdKey(key: string): void {
  sessionStorage.setItem(keyName, key)
  sessionStorage.setItem(sinceName, String(Math.max(Date.now(), signedOutAt(key) + 1)))
}

/** When keys were signed out on this device, by how they begin: tabs that are elsewhere hear no message. */
function readSignOuts(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(signOutsName) ?? '{}') as Record<string, number>
  } catch {
    return {}
  }
}

const nameKey = (key: string): string => key.slice(0, 8)

function signedOutAt(key: string): number {
  return readSignOuts()[nameKey(key)] ?? 0
}

function noteSignOut(key: string): void {
  const all = { ...readSignOuts(), [nameKey(key)]: Date.now() }
  const newest = Object.entries(all)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, mostSignOuts)
  localStorage.setItem(signOutsName, JSON.stringify(Object.fromEntries(newest)))
}

function askOtherTabs(): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const answered = new AbortController()
  tabs.addEventListener(
    'message',
    ({ data }: MessageEvent<Message>) => {
      if (!('key' in data)) return
      holdKey(data.key)
      resolve(data.key)
    },
    { signal: answered.signal },
  )
  tabs.postMessage({ ask: true } satisfies Message)
  setTimeout(() => resolve(null), answerMs)
  return promise.finally(() => answered.abort())
}

/** Tells other tabs the key of this one when they ask, and calls back when another tab has signed in or out. */
export function followOtherTabs(onKey: (key: string) => void, onSignedOut: () => void): void {
  tabs.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    const key = readKey()
    if ('ask' in data && key !== null) tabs.postMessage({ key } satisfies Message)
    else if ('key' in data && key === null) {
      holdKey(data.key)
      onKey(data.key)
    } else if ('signedOut' in data && (key === null || key === data.signedOut)) {
      clear(data.signedOut)
      onSignedOut()
    }
  })
  const look = (): void => {
    if (readKey() === null) onSignedOut()
  }
  addEventListener('storage', ({ key }) => key === signOutsName && look())
  // Back may bring the page as it was when it was left.
  addEventListener('pageshow', ({ persisted }) => persisted && look())
}

export function keepKey(key: string, remember: boolean): void {
  const before = readKey()
  // Drafts of another account may name its files.
  if (before !== key) clear(before)
  else for (const place of [localStorage, sessionStorage]) place.removeItem(keyName)
  if (remember) localStorage.setItem(keyName, key)
  else holdKey(key)
  tabs.postMessage({ key } satisfies Message)
}

/** Signs out in every tab that has the same key. */
export function forgetEverything(): void {
  const key = readKey()
  if (key !== null) noteSignOut(key)
  clear(key)
  tabs.postMessage({ signedOut: key } satisfies Message)
}

function clear(key: string | null): void {
  for (const place of [localStorage, sessionStorage]) {
    // The device may remember another key than that of this tab.
    if ((place.getItem(keyName) ?? key) !== key) continue
    for (const name of [keyName, sinceName, draftsName]) place.removeItem(name)
  }
  handedMedia.clear()
  knownMedia.clear()
}

const handedMedia = new Map<string, string>()
const knownMedia = new Map<string, MediaFacts>()

/** The draft of a model's input. */
export function readDraft(model: string): JsonObject | undefined {
  return readDrafts()[model]
}

/** Keeps the newest drafts. */
export function keepDraft(model: string, input: JsonObject): void {
  const others = Object.entries(readDrafts()).filter(([known]) => known !== model)
  const drafts = [...others, [model, withoutFiles(input)] as const].slice(-mostDrafts)
  try {
    storage().setItem(draftsName, JSON.stringify(Object.fromEntries(drafts)))
  } catch {
    // If the storage is full, only a convenience is lost.
  }
}

/** A text by which the user recognises a job; null if its input has none. */
export function describeInput({ input }: Pick<JobRecord, 'input'>): string | null {
  const words = input?.['prompt'] ?? input?.['title'] ?? input?.['text']
  if (typeof words === 'string' && words !== '') return words
  const files = Object.values(input ?? {}).flatMap((value) => (Array.isArray(value) ? value : [value]))
  const names = files.flatMap((value) => (typeof value === 'string' ? (knownMedia.get(value)?.name ?? []) : []))
  return names.length > 2 ? `${names[0]} and ${names.length - 1} more` : names.join(' and ') || null
}

/** What a job is called where its input has no text: its model, by its id when the catalog has it no longer. */
export function nameJob(job: Pick<JobRecord, 'input' | 'model'>, models: ReadonlyMap<string, ModelRecord>): string {
  return describeInput(job) ?? models.get(job.model)?.name ?? job.model
}

function readDrafts(): Record<string, JsonObject> {
  try {
    return JSON.parse(storage().getItem(draftsName) ?? '{}') as Record<string, JsonObject>
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
