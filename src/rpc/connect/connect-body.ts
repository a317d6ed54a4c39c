// Bodies of Connect and gRPC-Web, read before Connect creates messages from them: bounded in bytes, in inflated bytes and in values.
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import { type DescMessage, type DescMethod, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { MediagenError } from '../../core/errors.ts'
import { cutText } from '../../core/text/log-text.ts'
import { describeViolations } from '../../core/violations.ts'
import { refuseRepeatedNames } from '../../guards/json-names.ts'
import { refuseManyValues, weighJson } from '../../guards/json-values.ts'
import { toPointerToken } from '../../schema/violations.ts'
import type { Spend } from '../../services/calls/service.ts'
import { decodeRequest, findLargestMessage, type RequestBounds, weighRequest } from '../grpc/request-bytes.ts'
import { FrameReader, toFrame } from './connect-frames.ts'

const inflaters = { gzip: promisify(gunzip), br: promisify(brotliDecompress) } as const
type Encoding = keyof typeof inflaters

/** The form of a body. */
export interface BodyForm {
  readonly isJson: boolean
  /** Whether each message has a frame around it; else the body is one message. */
  readonly isFramed: boolean
  /** Null when nothing is compressed. */
  readonly encoding: Encoding | null
}

/**
 * Finds the form of a body, and removes the headers that no longer hold once `readBody` has inflated it.
 * @returns null for a form that Connect refuses without reading the body
 */
export function takeBodyForm(headers: IncomingHttpHeaders): BodyForm | null {
  const type = headers['content-type'] ?? ''
  const [, protocol = '', json] = /^application\/(connect\+|grpc-web\+?)?(json)?(?:proto)?\b/i.exec(type) ?? []
  const encodingHeader =
    protocol === '' ? 'content-encoding' : protocol === 'connect+' ? 'connect-content-encoding' : 'grpc-encoding'
  const encoding = headers[encodingHeader] ?? 'identity'
  if (encoding !== 'identity' && encoding !== 'gzip' && encoding !== 'br') return null
  delete headers[encodingHeader]
  delete headers['content-length']
  return { isJson: json !== undefined, isFramed: protocol !== '', encoding: encoding === 'identity' ? null : encoding }
}

/**
 * Reads a body and checks each message as soon as it is whole. Nothing is read before the first message is asked for.
 * @returns the same body, not compressed
 * @param spend receives the weight of each message, inflated, before it is decoded
 * @throws MediagenError `payload_too_large` or `invalid_request`, or what `spend` throws
 */
export async function* readBody(
  pieces: AsyncIterable<Buffer>,
  method: DescMethod,
  form: BodyForm,
  bounds: RequestBounds,
  spend: Spend,
): AsyncIterable<Uint8Array> {
  const largest = findLargest(form, bounds)
  if (!form.isFramed) {
    const bytes = await inflate(await readWhole(pieces, largest), form.encoding, largest)
    await spend(weigh(method, bytes, form, bounds))
    checkMessage(method, bytes, form, bounds)
    yield bytes
    return
  }
  const reader = new FrameReader(largest)
  for await (const piece of pieces) {
    reader.push(piece)
    for (let frame = reader.take(); frame; frame = reader.take()) {
      const bytes = frame.compressed ? await inflate(frame.bytes, form.encoding ?? 'gzip', largest) : frame.bytes
      await spend(weigh(method, bytes, form, bounds))
      checkMessage(method, bytes, form, bounds)
      yield toFrame(bytes)
    }
  }
  if (reader.isAmid) throw new MediagenError('invalid_request', 'The request broke off before it was complete.')
}

/**
 * Checks the message in the query of a GET, which Connect decodes itself.
 * @throws MediagenError `payload_too_large` or `invalid_request`
 */
export async function checkQuery(url: string, method: DescMethod, bounds: RequestBounds): Promise<void> {
  const query = new URL(url).searchParams
  const compression = query.get('compression')
  const form = { isJson: query.get('encoding') === 'json', isFramed: false, encoding: null }
  const text = query.get('message') ?? ''
  const bytes = query.get('base64') === '1' ? Buffer.from(text, 'base64url') : Buffer.from(text)
  const encoding = compression === 'gzip' || compression === 'br' ? compression : null
  checkMessage(method, await inflate(bytes, encoding, findLargest(form, bounds)), form, bounds)
}

function findLargest({ isJson }: BodyForm, bounds: RequestBounds): number {
  return isJson ? bounds.maxBodyBytes : findLargestMessage(bounds)
}

async function readWhole(pieces: AsyncIterable<Buffer>, largest: number): Promise<Buffer> {
  const whole: Buffer[] = []
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    if (length > largest) throw tooLarge(largest)
    whole.push(piece)
  }
  return whole.length === 1 && whole[0] ? whole[0] : Buffer.concat(whole)
}

async function inflate(bytes: Buffer, encoding: Encoding | null, maxOutputLength: number): Promise<Buffer> {
  if (encoding === null || bytes.length === 0) return bytes
  try {
    return await inflaters[encoding](bytes, { maxOutputLength })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxOutputLength, error)
    throw new MediagenError('invalid_request', `The request is not valid ${encoding}.`, {}, { cause: error })
  }
}

function weigh(method: DescMethod, bytes: Buffer, { isJson }: BodyForm, bounds: RequestBounds): number {
  return isJson ? weighJson(bytes, bounds.maxValues) : weighRequest(method, bytes, bounds)
}

function checkMessage(method: DescMethod, bytes: Buffer, { isJson }: BodyForm, bounds: RequestBounds): void {
  if (!isJson) return void decodeRequest(method, bytes, bounds)
  refuseManyValues(bytes, bounds.maxValues)
  try {
    const text = bytes.toString()
    const json = JSON.parse(text) as JsonValue
    refuseRepeatedNames(text)
    refuseUnknownFields(method.input, json)
    // Connect decodes it again and would ignore unknown fields; this finds those of messages within, too.
    fromJson(method.input, json)
  } catch (error) {
    if (error instanceof MediagenError) throw error
    const reason = error instanceof Error ? `: ${error.message}` : ''
    throw new MediagenError(
      'invalid_request',
      cutText(`The request is not a ${method.input.typeName}${reason}.`),
      {},
      {
        cause: error,
      },
    )
  }
}

/** A misspelt field must not cost credits. Binary messages have numbers instead of names, and what is new to this server is ignored. */
function refuseUnknownFields({ fields }: DescMessage, json: JsonValue): void {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) return
  const violations = Object.keys(json)
    .filter((key) => !fields.some(({ name, jsonName }) => key === name || key === jsonName))
    .map((key) => ({ pointer: `/${toPointerToken(key)}`, detail: 'is not a known field' }))
  if (violations.length > 0) throw new MediagenError('invalid_request', describeViolations(violations), { violations })
}

function tooLarge(largest: number, cause?: unknown): MediagenError {
  return new MediagenError(
    'payload_too_large',
    `The request is larger than the ${largest} bytes that this server accepts.`,
    {},
    { cause },
  )
}
