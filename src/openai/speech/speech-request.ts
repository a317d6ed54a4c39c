// A request of OpenAI's interface for speech, as the input of a model.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { isObject } from '../../schema/refs.ts'
import {
  type DoorModel,
  type FieldRules,
  meaningsOf,
  propertiesOf,
  targetOf,
  type TranslatedFields,
  translateField,
  translateFields,
} from '../fields.ts'

/** Body of a request; its route has checked the types of these fields. */
export interface SpeechBody extends JsonObject {
  model?: string | null
  input: string
  voice?: string | { id: string } | null
  stream_format?: 'audio' | 'sse' | null
  max_credits?: number | null
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
  asksNothing: { speed: [1], response_format: ['mp3'], instructions: [''], stream: [false] },
  usualNames: { input: ['text', 'prompt', 'input'], response_format: ['format', 'output_format', 'response_format'] },
}

/**
 * Translates a request.
 * @throws MediagenError `invalid_request` that names every field that means nothing to the model
 */
export function toSpeechOrder(body: SpeechBody, model: DoorModel): TranslatedFields {
  const fields = Object.entries(body).filter(([name]) => !ofTheDoor.has(name))
  return translateFields(model, fields, (name, sent) => {
    const value = name === 'voice' && isObject(sent) ? (sent['id'] ?? null) : sent
    return translateField(model, name, value, rules)
  })
}

/** The voices of a model: its own, then those that the catalog gives another name. Empty if any text may name one. */
export function listVoices(model: DoorModel): Voice[] {
  const target = targetOf(model, 'voice', rules)
  const { enum: options, 'x-enum-titles': titles } = (target && propertiesOf(model)[target]) || {}
  const own = Array.isArray(options) ? options.map(String) : []
  const ids = new Set([...own, ...Object.keys(meaningsOf(model, 'voice'))])
  return [...ids].map((id) => ({ id, name: String((titles as JsonObject | undefined)?.[id] ?? id) }))
}
