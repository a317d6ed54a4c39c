// Operations that providers publish, in minimal JSON Schemas.
export type Schema = Readonly<Record<string, unknown>>

/** An operation that a provider publishes. */
export interface Operation {
  readonly method: string
  readonly path: RegExp
  /** Of its query, headers and body, as far as they are published; a body that is not named is not sent. */
  readonly query?: Schema
  readonly headers?: Schema
  readonly body?: Schema
  /** Of its answers, by status. Other statuses below 400 are not published. */
  readonly answers: Readonly<Record<number, Schema>>
}

export const text = { type: 'string' }
export const whole = { type: 'integer' }
export const object = { type: 'object' }
export const url = { type: 'string', pattern: '^https?://' }
export const time = { type: 'string', pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$` }
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })
export const record = (required: Schema, optional: Schema = {}, more: Schema = {}): Schema => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
  ...more,
})
export const closed = { additionalProperties: false }
export const any = {}
