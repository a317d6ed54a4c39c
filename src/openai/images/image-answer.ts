// Ended jobs as an answer of OpenAI's interface.
import { Readable } from 'node:stream'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Job, Output } from '../../../gen/mediagen/v1/generation_pb.ts'
import { record, string, url } from '../../gateway/schemas/schema-fields.ts'
import type { OpenOutput } from '../outputs.ts'
import type { ImageBody } from './image-request.ts'

const tokens = { type: 'integer' } as const

/** JSON Schema of the answer. */
export const imagesSchema = record('Images', "Pictures, as clients of OpenAI's interface read them.", {
  created: { type: 'integer', description: 'Seconds since 1970.' },
  data: {
    type: 'array',
    items: {
      title: 'Image',
      type: 'object',
      description: 'A picture: its bytes or its address.',
      properties: {
        b64_json: { ...string, description: 'Its bytes in base64.' },
        url: { ...url, description: 'Signed URL of it, which needs no key.' },
      },
    },
  },
  background: string,
  output_format: { ...string, description: 'Such as `png`.' },
  quality: string,
  size: { ...string, description: 'Width and height of the first picture.' },
  usage: record('ImageUsage', 'Zeros: credits are charged, not tokens.', {
    input_tokens: tokens,
    input_tokens_details: record('ImageInputTokens', 'Zeros.', { text_tokens: tokens, image_tokens: tokens }),
    output_tokens: tokens,
    total_tokens: tokens,
  }),
})

// Some clients throw pictures away whose usage is not whole.
const usage = {
  input_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
  output_tokens: 0,
  total_tokens: 0,
}

/** Body of the answer, but for its pictures. */
export function describeImages(body: ImageBody, [job]: readonly Job[], [first]: readonly Output[]) {
  const { quality, background } = body
  return {
    created: Math.floor((job?.createdAt ? timestampMs(job.createdAt) : 0) / 1000),
    background: typeof background === 'string' ? background : 'auto',
    output_format: first?.contentType.replace(/^image\//, '') ?? 'png',
    quality: typeof quality === 'string' ? quality : 'auto',
    size: first?.width && first.height ? `${first.width}x${first.height}` : 'auto',
    usage,
  }
}

/** An answer with pictures. */
export interface PicturesAnswer {
  readonly bytes: number
  readonly body: Readable
}

/**
 * The answer with the bytes of pictures, read while it is sent: they may have many megabytes together, and many clients may ask at
 * once. The first is opened before, so that it is a problem with a status if it cannot be.
 * @param described the other members
 */
export async function writePictures(
  described: object,
  outputs: readonly Pick<Output, 'url' | 'bytes'>[],
  open: OpenOutput,
): Promise<PicturesAnswer> {
  const head = `${JSON.stringify(described).slice(0, -1)},"data":[`
  const [before, after, end] = ['{"b64_json":"', '"}', ']}']
  const lengths = outputs.map(({ bytes }) => Math.ceil(Number(bytes) / 3) * 4 + before.length + after.length)
  const commas = Math.max(0, outputs.length - 1)
  const bytes = lengths.reduce((sum, one) => sum + one, Buffer.byteLength(head) + commas + end.length)
  const [first, ...others] = outputs
  let content = first && (await open(first))

  async function* toPieces(): AsyncGenerator<string> {
    yield head
    while (content) {
      yield before
      yield* toBase64(content)
      yield after
      const next = others.shift()
      if (next) yield ','
      content = next && (await open(next))
    }
    yield end
  }
  const body = Readable.from(toPieces())
  // Of a client that has left, perhaps before the first piece.
  body.once('close', () => content?.destroy())
  return { bytes, body }
}

async function* toBase64(content: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  let rest = Buffer.alloc(0)
  for await (const piece of content) {
    const bytes = Buffer.concat([rest, piece as Buffer])
    const whole = bytes.length - (bytes.length % 3)
    rest = bytes.subarray(whole)
    yield bytes.toString('base64', 0, whole)
  }
  yield rest.toString('base64')
}
