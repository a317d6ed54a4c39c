// Turns messages into the JSON records of REST by one rule: names as in the proto files, numbers for 64-bit integers, lower-case
// names for codes, RFC 3339 for times, null for what is not there. docs/contract.md, section 1.
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf'
import { StructSchema, type Timestamp, timestampMs, TimestampSchema } from '@bufbuild/protobuf/wkt'
import { type Model, ModelSchema, ProductSchema } from '../../gen/mediagen/v1/catalog_pb.ts'
import { JobStatus, JobStatusSchema, type Output, OutputSchema } from '../../gen/mediagen/v1/generation_pb.ts'
import { type Permission, PermissionSchema } from '../../gen/mediagen/v1/options_pb.ts'
import { type DeliveryStatus, DeliveryStatusSchema } from '../../gen/mediagen/v1/webhooks_pb.ts'
import { toTimestampText } from '../core/clock.ts'

/** A record; the response schema of a route says which of its fields are sent. */
export type JsonRecord = Record<string, unknown>

type Convert = (value: unknown) => unknown

/** The exceptions from the rule. */
const exceptions: Readonly<Record<string, (message: Message) => JsonRecord>> = {
  [OutputSchema.typeName](message) {
    const { expired, url } = message as Output
    return { url: expired ? null : url }
  },
  [ModelSchema.typeName]: (message) => ({
    object: 'model',
    created: Math.floor(msOf((message as Model).created) / 1000),
  }),
  [ProductSchema.typeName]: () => ({ object: 'product' }),
}
const converters = new Map<DescMessage, (message: Message) => JsonRecord>()

/** The record of a message that the core always sends. */
export function toRecord<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc> | undefined): JsonRecord {
  if (message === undefined) throw new Error(`the core sent no ${desc.typeName}`)
  return converterOf(desc)(message)
}

function converterOf(desc: DescMessage): (message: Message) => JsonRecord {
  const known = converters.get(desc)
  if (known) return known
  const fields = desc.fields.map((field) => ({
    name: field.name,
    localName: field.localName,
    convert: createConverter(field),
  }))
  const except = exceptions[desc.typeName]
  // A copy has room for all fields; a new object would grow with each.
  const empty: JsonRecord = Object.fromEntries(fields.map(({ name }) => [name, null]))
  const made = (message: Message & Partial<JsonRecord>): JsonRecord => {
    const record = { ...empty }
    for (const { name, localName, convert } of fields) {
      const value = message[localName]
      if (value !== undefined) record[name] = convert(value)
    }
    return except ? Object.assign(record, except(message)) : record
  }
  converters.set(desc, made)
  return made
}

function createConverter(field: DescField): Convert {
  const convert = createValueConverter(field)
  return field.fieldKind === 'list' ? (values) => (values as unknown[]).map(convert) : convert
}

function createValueConverter({ message, enum: codes, scalar }: DescField): Convert {
  if (message?.typeName === TimestampSchema.typeName) return (time) => toTime(time as Timestamp)
  // Already JSON.
  if (message?.typeName === StructSchema.typeName) return (value) => value
  if (message) return converterOf(message) as Convert
  if (codes?.typeName === PermissionSchema.typeName)
    return (code) => toPermissionName(codes.value[code as number]?.localName)
  if (codes) return (code) => codes.value[code as number]?.localName.toLowerCase()
  return scalar === ScalarType.INT64 ? Number : (value) => value
}

/** The name of a permission as REST writes it. */
function toPermissionName(code = ''): string {
  return code.toLowerCase().replace('_', ':')
}

function msOf(time: Timestamp | undefined): number {
  return time ? timestampMs(time) : 0
}

function toTime(time: Timestamp): string {
  return toTimestampText(timestampMs(time))
}

/** A page of a list, as every list route returns it. */
export interface ListRecord<Item> {
  object: 'list'
  data: Item[]
  total: number
  limit: number
  offset: number
  has_more: boolean
}

export function toList<Item>(
  data: Item[],
  total: number,
  { limit, offset }: { limit: number; offset: number },
): ListRecord<Item> {
  return { object: 'list', data, total, limit, offset, has_more: offset + data.length < total }
}

/** A page of the records of messages. */
export function toListOf<Desc extends DescMessage>(
  desc: Desc,
  messages: readonly MessageShape<Desc>[],
  total: number,
  page: { limit: number; offset: number },
): ListRecord<JsonRecord> {
  return toList(messages.map(converterOf(desc)), total, page)
}

/** Whether the state ends a client's wait. */
export function isTerminalStatus(status: JobStatus | undefined): boolean {
  return status !== JobStatus.QUEUED && status !== JobStatus.RUNNING
}

/** Codes of states by their names, as REST writes them. */
export const jobStatusCodes = toCodes<JobStatus>(JobStatusSchema)
/** Codes of permissions by their names. */
export const permissionCodes: ReadonlyMap<string, Permission> = new Map(
  PermissionSchema.values.map(({ localName, number }) => [toPermissionName(localName), number as Permission]),
)
export const deliveryStatusCodes = toCodes<DeliveryStatus>(DeliveryStatusSchema)

function toCodes<Code extends number>(codes: DescEnum): ReadonlyMap<string, Code> {
  const named = codes.values.filter(({ number }) => number !== 0)
  return new Map(named.map(({ localName, number }) => [localName.toLowerCase(), number as Code]))
}
