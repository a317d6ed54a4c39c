// What it takes to make a job's files again: the input that its run had, and by what it was made.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'

/** What a start added to the input that was sent, by JSON pointer: defaults of the schema, and a seed. Values that were sent stay. */
export type Additions = Readonly<Record<string, JsonValue>>

/** By what a job was made, as it was when its run ended. */
export interface MadeBy {
  /** The version of the model, or of an engine that is reproducible; null if nobody says. */
  readonly version: string | null
  /** The kind of the engine. */
  readonly engine: string
  /** What its provider calls the model; null for what this server made itself. */
  readonly model: string | null
}

/** An input as it was sent, and what the start added to it. */
export interface StoredInput {
  readonly input: JsonObject
  readonly additions: Additions
}

/** What `completed` has more than `sent`, which it contains. */
export function findAdditions(sent: JsonObject, completed: JsonObject): Additions {
  const found: Record<string, JsonValue> = {}
  collect(sent, completed, '', found)
  return found
}

function collect(sent: JsonValue, completed: JsonValue, pointer: string, found: Record<string, JsonValue>): void {
  if (typeof completed !== 'object' || completed === null) return
  for (const [key, value] of Object.entries(completed)) {
    const at = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (Object.hasOwn(sent as object, key)) collect((sent as JsonObject)[key] as JsonValue, value, at, found)
    else found[at] = value
  }
}

/** The input that a run has: what was sent, and what the start added. */
export function addAll({ input, additions }: StoredInput): JsonObject {
  if (Object.keys(additions).length === 0) return input
  const whole = structuredClone(input)
  for (const [pointer, value] of Object.entries(additions)) {
    const keys = pointer.split('/').slice(1).map(toKey)
    const last = keys.pop() as string
    // An array takes the text of an index as well.
    const place = keys.reduce((node, key) => node[key] as JsonObject, whole)
    place[last] = value
  }
  return whole
}

function toKey(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}
