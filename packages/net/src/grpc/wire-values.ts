// How many values a binary message holds, before anything is made of it: a byte of a Struct can cost a hundred of memory.
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { ValueSchema } from '@bufbuild/protobuf/wkt'

// Wire types. https://protobuf.dev/programming-guides/encoding/#structure
const [varint, fixed64, lengthDelimited, startGroup, endGroup, fixed32] = [0, 1, 2, 3, 4, 5]
// As far as messages are decoded.
const deepest = 100
const longestVarint = 10
const longestLength = 5
// A byte from here on says that more follow.
const moreFollow = 0x80

/** What a field may look like, and what is in it. */
interface FieldPlan {
  readonly wireType: number
  /** Whether several scalars may come in one piece. */
  readonly packable: boolean
  /** Set when the field is a message. */
  readonly message: MessagePlan | null
  /** Whether each further piece is merged into a copy of those before, and costs as much as they did. */
  readonly merges: boolean
}

interface MessagePlan {
  /** By number. */
  readonly fields: (FieldPlan | undefined)[]
  /** How many fields are counted with the message itself: the kind of a Value, the key and the value of an entry. */
  readonly freeFields: number
  readonly isEntry: boolean
}

const plans = new WeakMap<DescMessage, MessagePlan>()

/**
 * Counts the values of a message as JSON has them: the message itself, members, elements; names are none.
 * @param most counting ends once there are more
 * @throws RangeError when the bytes are no such message, or are nested deeper than it would be decoded
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
    // What decodes goes by the field and not by what it looks like: both must be the same, or it reads other things than this.
    if (field && wireType !== field.wireType && !(field.packable && wireType === lengthDelimited))
      throw new RangeError('a field has another type')
    if (wireType === varint) this.#skipVarint(end)
    else if (wireType === fixed64) this.#skip(8, end)
    else if (wireType === fixed32) this.#skip(4, end)
    else if (wireType === lengthDelimited) this.#readBytes(field, end, depth)
    // The fields of a group, which no message of today has, are counted as they come.
    else if (wireType !== startGroup && wireType !== endGroup) throw new RangeError('a field has no type')
  }

  #readBytes(field: FieldPlan | undefined, end: number, depth: number): void {
    const length = this.#readNumber(end)
    const stop = this.#at + length
    if (stop > end) throw new RangeError('a field is longer than its message')
    // An entry of a map is no level of its own for the decoder.
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
  // Known before its fields are looked at: messages may hold themselves.
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
      // protobuf-es shows a Struct as plain JSON, which it turns back to add another piece.
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
