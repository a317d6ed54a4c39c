// A request of OpenAI's interface for speech, as the input of a model.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { MediagenError, type Violation } from '../../core/errors.ts'
import { describeViolations } from '../../core/violations.ts'
import { toPointerToken } from '../../schema/violations.ts'
import { type DoorModel, type FieldRules, meaningsOf, propertiesOf, targetOf, translateField } from '../fields.ts'

/** Body of a request; its route has checked the types of these fields. */
export interface SpeechBody extends JsonObject {
  model?: string | null
  input: string
  voice?: string | { id: string } | null
  stream_format?: 'audio' | 'sse' | null
  max_credits?: number | null
}

/** What a request asks of a model. */
export interface SpeechOrder {
  readonly input: JsonObject
  /** The door's names of the fields that were set, by the model's names. */
  readonly names: Readonly<Record<string, string>>
}

/** A voice that a request may name. */
export interface Voice {
  readonly id: string
  readonly name: string
}

// What the door itself reads.
const ofTheDoor: ReadonlySet<string> = new Set(['model', 'stream_format', 'max_credits'])

// MP3 is what libraries send where their user has chosen nothing.
const rules: FieldRules = {
  asksNothing: { speed: [1], response_format: ['mp3'], instructions: [''] },
  usualNames: { input: ['text', 'prompt', 'input'], response_format: ['format', 'output_format', 'response_format'] },
}

/**
 * Translates a request.
 * @throws MediagenError `invalid_request` that names every field that means nothing to the model
 */
export function toSpeechOrder(body: SpeechBody, model: DoorModel): SpeechOrder {
  const input: JsonObject = {}
  const names: Record<string, string> = {}
  const violations: Violation[] = []
  for (const [name, sent] of Object.entries(body)) {
    // Clients write null for what they do not set.
    if (sent === undefined || sent === null || ofTheDoor.has(name)) continue
    const value = name === 'voice' && typeof sent === 'object' ? (body.voice as { id: string }).id : sent
    const set = translateField(model, name, value, rules)
    const pointer = `/${toPointerToken(name)}`
    if (typeof set === 'string') {
      violations.push({ pointer, detail: set })
      continue
    }
    for (const target of Object.keys(set)) {
      if (Object.hasOwn(names, target)) violations.push({ pointer, detail: `sets the same as ${names[target]}` })
      names[target] = name
    }
    Object.assign(input, set)
  }
  if (violations.length > 0) throw new MediagenError('invalid_request', describeViolations(violations), { violations })
  return { input, names }
}

/** The voices of a model: its own, then those that the catalog gives another name. Empty if any text may name one. */
export function listVoices(model: DoorModel): Voice[] {
  const target = targetOf(model, 'voice', rules)
  const { enum: options, 'x-enum-titles': titles } = (target && propertiesOf(model)[target]) || {}
  const own = Array.isArray(options) ? options.map(String) : []
  const ids = new Set([...own, ...Object.keys(meaningsOf(model, 'voice'))])
  return [...ids].map((id) => ({ id, name: String((titles as JsonObject | undefined)?.[id] ?? id) }))
}
