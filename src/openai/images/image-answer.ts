// Ended jobs as an answer of OpenAI's interface.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Job, Output } from '../../../gen/mediagen/v1/generation_pb.ts'
import { record, string, url } from '../../gateway/schemas/schema-fields.ts'
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
