// What a C2PA manifest store claims, read without checking any of it. C2PA Technical Specification 2.2; boxes by ISO/IEC 19566-5.
import { X509Certificate } from 'node:crypto'
import { decode } from 'cborg'
import type { Provenance } from '../../../core/files/provenance.ts'

/** What a manifest store says of its file. */
export type Claims = Pick<Provenance, 'issuer' | 'generator' | 'actions' | 'sourceType'>

const codes = /^https?:\/\/cv\.iptc\.org\/newscodes\/digitalsourcetype\/([A-Za-z]+)$/
const mostBoxes = 10_000
const mostParents = 10
// Lists of empty lists or maps take hundreds of times as much when they are decoded, so this counts for all boxes of a store
// together. Pictures, which are larger, are not in CBOR.
const mostCborBytes = 512 * 1024
// COSE: RFC 9052, 4.2, and the certificates of RFC 9360, 2.
const certificates = 33
const untagged = { 0: unwrap, 1: unwrap, 18: unwrap, 37: unwrap }

/** The code of IPTC's digital source types in a URI; any other URI as it is. */
export function toSourceType(uri: string): string {
  return codes.exec(uri)?.[1] ?? uri
}

/**
 * Reads the claims of the active manifest, which is the last. Where it says nothing of the source, its parent does.
 * @throws Error if this is no manifest store
 */
export function readClaims(store: Buffer): Claims {
  const [root] = readBoxes(store, { left: mostCborBytes })
  const manifests = root?.label === 'c2pa' ? root.children() : []
  const active = manifests.at(-1)
  if (active === undefined) throw new Error('it is no C2PA manifest store')
  const parts = active.children()
  const claim = toMap(parts.find(({ label }) => /^c2pa\.claim(\.v2)?$/.test(label))?.content())
  const [info] = [claim.get('claim_generator_info')].flat()
  const signature = parts.find(({ label }) => label === 'c2pa.signature')?.content()
  return {
    issuer: signature === undefined ? null : readIssuer(signature),
    generator: toText(toMap(info).get('name')) ?? toText(claim.get('claim_generator')),
    actions: readActions(parts).flatMap((action) => toText(action.get('action')) ?? []),
    sourceType: findSourceType(active, manifests, mostParents),
  }
}

type Fields = ReadonlyMap<unknown, unknown>

interface LabelledBox {
  readonly label: string
  children(): LabelledBox[]
  /** Its first box of CBOR, decoded. */
  content(): unknown
}

/**
 * Reads the superboxes in some bytes; what is cut short is an error.
 * @param room bytes of CBOR that may still be decoded
 */
function readBoxes(bytes: Buffer, room: { left: number }): LabelledBox[] {
  const boxes: LabelledBox[] = []
  for (const { type, body } of split(bytes)) {
    if (type !== 'jumb') continue
    const [description, ...rest] = split(body)
    if (description?.type !== 'jumd') throw new Error('a box has no description')
    // Type, flags, and a label that ends with a zero.
    const end = description.body.indexOf(0, 17)
    boxes.push({
      label: description.body.toString('utf8', 17, end < 0 ? undefined : end),
      children: () => readBoxes(body, room),
      content() {
        const cbor = rest.find((part) => part.type === 'cbor')
        if (cbor === undefined) return undefined
        room.left -= cbor.body.length
        if (room.left < 0) throw new Error(`it has more than ${mostCborBytes} bytes of CBOR`)
        return decode(cbor.body, { useMaps: true, tags: untagged })
      },
    })
  }
  return boxes
}

function split(bytes: Buffer): { type: string; body: Buffer }[] {
  const boxes: { type: string; body: Buffer }[] = []
  for (let at = 0; at + 8 <= bytes.length && boxes.length < mostBoxes;) {
    const length = bytes.readUInt32BE(at)
    // What follows may be padding.
    if (length === 0) break
    if (length < 8 || at + length > bytes.length) throw new Error('a box is cut short')
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), body: bytes.subarray(at + 8, at + length) })
    at += length
  }
  return boxes
}

function readAssertions(parts: readonly LabelledBox[], name: RegExp): Fields[] {
  const assertions = parts.find(({ label }) => label === 'c2pa.assertions')?.children() ?? []
  return assertions.filter(({ label }) => name.test(label)).map((assertion) => toMap(assertion.content()))
}

function readActions(parts: readonly LabelledBox[]): Fields[] {
  const lists = readAssertions(parts, /^c2pa\.actions(\.v2)?(__\d+)?$/).map((fields) => fields.get('actions'))
  return lists.flatMap((list) => (Array.isArray(list) ? list.map(toMap) : []))
}

function findSourceType(manifest: LabelledBox, all: readonly LabelledBox[], parents: number): string | null {
  const parts = manifest.children()
  for (const action of readActions(parts)) {
    const uri = toText(action.get('digitalSourceType'))
    if (uri !== null) return toSourceType(uri)
  }
  const ingredients = readAssertions(parts, /^c2pa\.ingredient/)
  const parent = ingredients.find((ingredient) => ingredient.get('relationship') === 'parentOf')
  const url = toText(toMap(parent?.get('activeManifest') ?? parent?.get('c2pa_manifest')).get('url'))
  const next = all.find(({ label }) => label === url?.split('/').at(-1))
  return next === undefined || parents === 0 ? null : findSourceType(next, all, parents - 1)
}

function readIssuer(signature: unknown): string | null {
  if (!Array.isArray(signature)) return null
  const [head, rest] = signature as unknown[]
  const signed = head instanceof Uint8Array && head.length > 0 ? toMap(decode(head, { useMaps: true })) : new Map()
  const chain: unknown = signed.get(certificates) ?? toMap(rest).get(certificates) ?? toMap(rest).get('x5chain')
  const [first] = [chain].flat()
  if (!(first instanceof Uint8Array)) return null
  // `toLegacyObject` can crash the process on a damaged key.
  const subject = new X509Certificate(first).subject.split('\n')
  const field = (name: string): string | undefined => subject.find((line) => line.startsWith(`${name}=`))
  return (field('O') ?? field('CN'))?.replace(/^[^=]*=/, '').replaceAll(/\\(.)/g, '$1') ?? null
}

function unwrap(content: () => unknown): unknown {
  return content()
}

function toMap(value: unknown): Fields {
  return value instanceof Map ? value : new Map()
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
