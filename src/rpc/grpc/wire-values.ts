// Counts the values of a binary message before it is decoded: a byte of a Struct can take a hundred bytes of memory.
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { ValueSchema } from '@bufbuild/protobuf/wkt'

// Wire types. https://protobuf.dev/programming-guides/encoding/#structure
const [varint, fixed64, lengthDelimited, startGroup, endGroup, fixed32] = [0, 1, 2, 3, 4, 5]
// The nesting limit of the decoder.
const deepest = 100
const longestVarint = 10
const longestLength = 5
// The bit of a varint's byte that says that another byte follows.
const moreFollow = 0x80

/** The wire format of a field. */
interface FieldPlan {
  readonly wireType: number
  /** Whether several scalars may be packed into one field. */
  readonly packable: boolean
  /** Set when the field is a message. */
  readonly message: MessagePlan | null
  /** Whether the decoder copies all earlier occurrences of the field to merge another one, which costs as much as they did. */
  readonly merges: boolean
}

interface MessagePlan {
  /** Indexed by field number. */
  readonly fields: (FieldPlan | undefined)[]
  /** Number of fields that do not count as values of their own: the kind of a Value, the key and the value of an entry. */
  readonly freeFields: number
  readonly isEntry: boolean
}

const plans = new WeakMap<DescMessage, MessagePlan>()

/**
 * Counts the values of a message as its JSON would have them: the message itself, members and elements, but not names.
 * @param most counting stops once this is exceeded
 * @throws RangeError when the bytes are not such a message, or are nested more deeply than the decoder accepts
 */
export function countWireValues(schema: DescMessage, bytes: Uint8Array, most: number): number {
  const scan = new Scan(bytes, most)
  scan.readMessage(planMessage(schema), bytes.length, 1)
  return scan.count
}

class Scan {
  count = 1
  #at = 0
  readonly #bytes: Uint8Array
  readonly #most: number

  constructor(bytes: Uint8Array, most: number) {
    this.#bytes = bytes
    this.#most = most
  }

  readMessage(plan: MessagePlan, end: number, depth: number): void {
    if (depth > deepest) throw new RangeError(`messages are nested deeper than ${deepest} levels`)
    let fields = 0
    let merged: Map<FieldPlan, number> | undefined
    while (this.#at < end && this.count <= this.#most) {
      const tag = this.#readNumber(end)
      const field = plan.fields[tag >>> 3]
      if (++fields > plan.freeFields) this.count += 1
      if (!field?.merges) this.#readField(tag & 7, field, end, depth)
      else {
        const before = this.count
        const earlier = merged?.get(field) ?? 0
        this.#readField(tag & 7, field, end, depth)
        merged ??= new Map()
        merged.set(field, earlier + 1 + this.count - before)
        this.count += earlier
      }
    }
  }

  #readField(wireType: number, field: FieldPlan | undefined, end: number, depth: number): void {
    // The decoder reads a field by its declared type, whatever its tag says. Both must agree, or the decoder reads other values than this.
    if (field && wireType !== field.wireType && !(field.packable && wireType === lengthDelimited))
      throw new RangeError('a field has another type')
    if (wireType === varint) this.#skipVarint(end)
    else if (wireType === fixed64) this.#skip(8, end)
    else if (wireType === fixed32) this.#skip(4, end)
    else if (wireType === lengthDelimited) this.#readBytes(field, end, depth)
    // The fields of a group, which none of our messages has, are counted like any others.
    else if (wireType !== startGroup && wireType !== endGroup) throw new RangeError('a field has no type')
  }

  #readBytes(field: FieldPlan | undefined, end: number, depth: number): void {
    const length = this.#readNumber(end)
    const stop = this.#at + length
    if (stop > end) throw new RangeError('a field is longer than its message')
    // The decoder does not count an entry of a map as a level.
    if (field?.message) this.readMessage(field.message, stop, field.message.isEntry ? depth : depth + 1)
    else {
      if (field?.packable) this.count += length
      this.#at = stop
    }
  }

  #readNumber(end: number): number {
    const first = this.#at < end ? (this.#bytes[this.#at] as number) : moreFollow
    if (first < moreFollow) {
      this.#at += 1
      return first
    }
    let value = 0
    for (let i = 0; i < longestLength && this.#at < end; i++) {
      const byte = this.#bytes[this.#at++] as number
      value += (byte & 0x7f) * 2 ** (7 * i)
      if (byte < moreFollow) {
        if (value > 0x7fffffff) break
        return value
      }
    }
    throw new RangeError('a number breaks off')
  }

  #skipVarint(end: number): void {
    for (let i = 0; i < longestVarint && this.#at < end; i++)
      if ((this.#bytes[this.#at++] as number) < moreFollow) return
    throw new RangeError('a number breaks off')
  }

  #skip(length: number, end: number): void {
    this.#at += length
    if (this.#at > end) throw new RangeError('a number breaks off')
  }
}

function planMessage(schema: DescMessage): MessagePlan {
  let plan = plans.get(schema)
  if (plan) return plan
  plan = { fields: [], freeFields: schema.typeName === ValueSchema.typeName ? 1 : 0, isEntry: false }
  // Stored before its fields are planned, because messages may contain themselves.
  plans.set(schema, plan)
  for (const field of schema.fields) plan.fields[field.number] = planField(field)
  return plan
}

function planField(field: DescField): FieldPlan {
  switch (field.fieldKind) {
    case 'scalar':
      return toPlan(toWireType(field.scalar))
    case 'enum':
      return toPlan(varint)
    case 'message':
      // protobuf-es keeps a Struct as plain JSON and converts it back to merge another occurrence.
      return {
        ...toPlan(lengthDelimited, planMessage(field.message)),
        merges: field.parent.typeName !== ValueSchema.typeName,
      }
    case 'list':
      if (field.listKind === 'message') return toPlan(lengthDelimited, planMessage(field.message))
      return planList(field.listKind === 'enum' ? varint : toWireType(field.scalar))
    case 'map': {
      const key = toPlan(toWireType(field.mapKey))
      const value =
        field.mapKind === 'message'
          ? toPlan(lengthDelimited, planMessage(field.message))
          : toPlan(field.mapKind === 'enum' ? varint : toWireType(field.scalar))
      return toPlan(lengthDelimited, { fields: [undefined, key, value], freeFields: 2, isEntry: true })
    }
  }
}

function planList(wireType: number): FieldPlan {
  return { ...toPlan(wireType), packable: wireType !== lengthDelimited }
}

function toPlan(wireType: number, message: MessagePlan | null = null): FieldPlan {
  return { wireType, packable: false, message, merges: false }
}

function toWireType(type: ScalarType): number {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return lengthDelimited
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return fixed64
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return fixed32
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.SINT32:
    case ScalarType.BOOL:
      return varint
  }
}
