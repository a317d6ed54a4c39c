// Seeds: a model that takes one, and would choose one itself, gets one from us, so that the job's record can say which it was.
import { randomInt } from 'node:crypto'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { CheckedInput } from './model.ts'

const names = ['seed', 'noise_seed'] as const
// Every provider takes so large a seed.
const largestSeed = 2_147_483_647
// By which many programs ask for any seed.
const anySeed = -1

/** The field of a model's input that is its seed; null if it has none. */
export function findSeedField({ properties }: JsonObject): string | null {
  return names.find((name) => Object.hasOwn(properties as JsonObject, name)) ?? null
}

/**
 * The input with a seed, if neither the client nor the schema has chosen one, and the schema takes one.
 * @param sent as the client sent it
 * @param completed with the defaults of the schema
 */
export function completeSeed(
  field: string,
  schema: JsonObject,
  checkInput: (input: JsonObject) => CheckedInput,
  { sent, completed }: { readonly sent: JsonObject; readonly completed: JsonObject },
): JsonObject {
  const chosen = completed[field] ?? anySeed
  if (Object.hasOwn(sent, field) || chosen !== anySeed) return completed
  const { minimum, maximum } = (schema['properties'] as Record<string, JsonObject>)[field] as JsonObject
  const [least, most] = [toBound(minimum, 0), toBound(maximum, largestSeed)]
  if (most < least) return completed
  const seeded = { ...completed, [field]: randomInt(least, most + 1) }
  return checkInput(seeded).ok ? seeded : completed
}

function toBound(bound: unknown, usual: number): number {
  return typeof bound === 'number' ? Math.min(Math.max(0, Math.trunc(bound)), largestSeed) : usual
}

/** The seed of an input; null if it has none, or asks for any. */
export function readSeed(input: JsonObject): number | null {
  const seed = names.map((name) => input[name]).find((value) => value !== undefined)
  return typeof seed === 'number' && Number.isSafeInteger(seed) && seed !== anySeed ? seed : null
}
