// The options of a call, as fields of a model's schema. What the schema has no field for becomes a warning.
import type { JSONObject, JSONValue, SharedV4Warning } from '@ai-sdk/provider'
import type { CallFile } from './media.ts'

/** JSON Schemas of the fields of a model. */
export type Fields = Readonly<Record<string, JSONObject>>

/** What an option of the AI SDK asks for. */
export interface Wish {
  /** The option's name. */
  readonly feature: string
  /** The value in each form that models know, the AI SDK's own first; none if it is not asked for. */
  readonly values: readonly JSONValue[]
  /** Names of fields for it, best first. */
  readonly names: readonly string[]
}

/** Files that an option asks for. */
export interface FileWish {
  readonly feature: string
  readonly files: readonly CallFile[]
  /** Of the field. Default: of any picture but a mask or a last frame. */
  readonly role?: 'mask' | 'last' | undefined
  /** Whether fields for several files come first. */
  readonly severalFirst?: boolean | undefined
}

/** A file and the field that it goes to. */
export interface Placement {
  readonly field: string
  readonly file: CallFile
  /** Whether the field is a list. */
  readonly several: boolean
}

/** An input in the making. */
export interface Draft {
  readonly input: JSONObject
  readonly placements: readonly Placement[]
  readonly warnings: readonly SharedV4Warning[]
  set(wish: Wish): void
  /** Sets a width and a height, from `1024x768`. */
  setSize(feature: string, size: string | undefined, wish: Omit<Wish, 'feature'>): void
  place(wish: FileWish): void
}

const roles = { mask: /mask/i, last: /last|tail|(^|_)end(_|$)/i }

/** Begins an input of a model. */
export function createDraft(modelId: string, fields: Fields): Draft {
  const input: JSONObject = {}
  const placements: Placement[] = []
  const warnings: SharedV4Warning[] = []

  function warn(feature: string): void {
    warnings.push({ type: 'unsupported', feature, details: `${modelId} has no field for it.` })
  }

  /** Whether a field took the value. */
  function take({ values, names }: Omit<Wish, 'feature'>): boolean {
    for (const name of names) {
      const value = Object.hasOwn(fields, name) ? choose(fields[name] ?? {}, values) : undefined
      if (value === undefined) continue
      input[name] = value
      return true
    }
    return false
  }

  return {
    input,
    placements,
    warnings,
    set(wish) {
      if (wish.values.length > 0 && !take(wish)) warn(wish.feature)
    },
    setSize(feature, size, wish) {
      const [, width, height] = /^(\d+)x(\d+)$/.exec(size ?? '') ?? []
      if (size === undefined || take(wish)) return
      if (width === undefined || height === undefined || !fields['width'] || !fields['height']) return warn(feature)
      input['width'] = Number(width)
      input['height'] = Number(height)
    },
    place({ feature, files, role, severalFirst = false }) {
      for (const file of files) {
        const free = Object.entries(fields).flatMap(([field, schema]) => {
          const several = isMedia(schema['items'])
          const fits = matchesRole(field, role) && takesKind(several ? schema['items'] : schema, file)
          return fits && (several || !placements.some((one) => one.field === field)) ? [{ field, several }] : []
        })
        const target = free.find(({ several }) => several === severalFirst) ?? free[0]
        if (!target) return warn(feature)
        placements.push({ ...target, file })
      }
    },
  }
}

function matchesRole(field: string, role: FileWish['role']): boolean {
  return role ? roles[role].test(field) : !roles.mask.test(field) && !roles.last.test(field)
}

function isMedia(schema: JSONValue | undefined): schema is JSONObject {
  return typeof schema === 'object' && schema !== null && 'format' in schema && schema['format'] === 'media'
}

function takesKind(schema: JSONValue | undefined, file: CallFile): boolean {
  if (!isMedia(schema)) return false
  const accepted = schema['contentMediaType']
  const kind = (file.mediaType ?? 'image').split('/')[0] ?? ''
  return typeof accepted !== 'string' || accepted.startsWith('*') || accepted.startsWith(`${kind}/`)
}

/** The form of a value that a field takes: one of its choices, or one of its type, which the server then checks. */
function choose({ enum: choices, type }: JSONObject, values: readonly JSONValue[]): JSONValue | undefined {
  const chosen = Array.isArray(choices) ? values.find((value) => choices.includes(value)) : undefined
  if (chosen !== undefined || type === undefined) return chosen ?? values[0]
  const types = Array.isArray(type) ? type : [type]
  const isOfType = (value: JSONValue): boolean =>
    types.includes(typeof value) || (typeof value === 'number' && types.includes('integer'))
  return values.find(isOfType)
}

/** A list of the value, empty without one. */
export function given<Value>(value: Value | undefined): Value[] {
  return value === undefined ? [] : [value]
}
