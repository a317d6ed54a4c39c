// Checks what an entry says about fields of OpenAI's interface: each must end in a valid field of the model's input.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { toPointerToken } from '../schema/violations.ts'
import { type CatalogEntry, EntryError } from './entry.ts'
import type { Model } from './model.ts'

/** @throws EntryError that names the field, and the value */
export function checkOpenaiFields({ openai = {}, input }: CatalogEntry, checkInput: Model['checkInput']): void {
  const properties = input['properties'] as JsonObject
  const checkName = (field: string, name: string): void => {
    if (!Object.hasOwn(properties, name)) throw new EntryError(field, `names "${name}", which is no field of the input`)
  }
  for (const [name, meaning] of Object.entries(openai)) {
    const field = `openai.${name}`
    if (typeof meaning === 'string') checkName(field, meaning)
    else
      for (const [value, set] of Object.entries(meaning)) {
        for (const target of Object.keys(set)) checkName(`${field}.${value}`, target)
        checkValues(`${field}.${value}`, set, checkInput)
      }
  }
}

/** The fields that are set must be valid, whichever others an input has. */
function checkValues(field: string, set: JsonObject, checkInput: Model['checkInput']): void {
  const checked = checkInput(set)
  if (checked.ok) return
  const starts = Object.keys(set).map((name) => `/input/${toPointerToken(name)}`)
  const wrong = checked.violations.find(({ pointer }) =>
    starts.some((start) => pointer === start || pointer.startsWith(`${start}/`)),
  )
  if (wrong) throw new EntryError(field + wrong.pointer.slice('/input'.length).replaceAll('/', '.'), wrong.detail)
}
