// POST /v1/images/generations: pictures for programs that speak OpenAI's interface. docs/openai.md.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Modality } from '../../../gen/mediagen/v1/catalog_pb.ts'
import { json } from '../../gateway/openapi/document.ts'
import { toMediagenError } from '../../gateway/problems/problem.ts'
import { readQuery } from '../../gateway/query.ts'
import type { Attempts } from '../attempts.ts'
import { type DoorDeps, doorErrors, doorHeaders, doorQuery, findModel, fulfil } from '../door.ts'
import { outputsOf } from '../outputs.ts'
import { describeImages, imagesSchema, writePictures } from './image-answer.ts'
import { type ImageBody, nameFields, toImageOrder } from './image-request.ts'
import { readStream, streamImage, type StreamOrder } from './stream.ts'

/** What the doors of pictures need. */
export interface ImagesDeps extends DoorDeps {
  /** Name of the model where none is sent; null for none. */
  readonly imageModel: string | null
}

const nullable = (type: string, rest: object = {}): object => ({ type: [type, 'null'], ...rest })

/** JSON Schema of the fields that all doors of pictures read. */
export const bodySchema = {
  type: 'object',
  // Fields that the model has are passed to it; others are refused by name.
  additionalProperties: true,
  properties: {
    model: nullable('string', { description: 'Model id or alias; that of the server where none is sent.' }),
    prompt: nullable('string', { description: 'What to make.' }),
    n: nullable('integer', { minimum: 1, maximum: 10, description: 'Number of pictures.' }),
    size: nullable('string', { description: '`auto`, or width and height such as `1024x1024`.' }),
    response_format: { enum: ['b64_json', 'url', null], description: 'Bytes or addresses; `b64_json` by default.' },
    stream: nullable('boolean', { description: 'Events in place of one answer: drafts, then the picture.' }),
    partial_images: nullable('integer', { minimum: 0, maximum: 3, description: 'The most drafts of a stream.' }),
    max_credits: nullable('integer', { minimum: 0, description: 'The most that all of it may cost.' }),
  },
} as const

const eventContent = {
  schema: { type: 'string' },
  example:
    'event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"iVBORw0KGgo=","credits_charged":1}\n\n',
}

/** Adds the route. */
export function addImageGenerations(door: FastifyInstance, attempts: Attempts, deps: ImagesDeps): void {
  door.post<{ Body: ImageBody }>(
    '/v1/images/generations',
    {
      config: { permission: 'generate', conflictStatus: 422 },
      schema: {
        operation: {
          id: 'createImage',
          summary: "Make pictures as OpenAI's interface does. The answer has the pictures when they are made.",
          query: doorQuery,
          headers: doorHeaders,
          answers: {
            200: {
              description:
                'The pictures; with `stream`, events `image_generation.partial_image` and `image_generation.completed`, or `error`.',
              content: { ...json(imagesSchema), 'text/event-stream': eventContent },
            },
            422: { description: 'The Idempotency-Key was used with another request (`idempotency_key_reused`).' },
          },
          errors: doorErrors,
        },
        body: bodySchema,
      },
    },
    (request, reply) => answerImages(request, reply, attempts, deps),
  )
}

async function answerImages(
  request: FastifyRequest<{ Body: ImageBody }>,
  reply: FastifyReply,
  attempts: Attempts,
  deps: ImagesDeps,
): Promise<object> {
  readQuery(request, doorQuery)
  const { body } = request
  const partialImages = readStream(body)
  const { stream: _stream, partial_images: _partialImages, ...fields } = body
  const model = await findModel(request, deps.core, {
    name: body.model,
    fallback: deps.imageModel,
    setting: 'MEDIAGEN_OPENAI_IMAGE_MODEL',
    modality: Modality.IMAGE,
    makes: 'pictures',
  })
  const order = { model: model.id, ...toImageOrder(fields, model), body: JSON.stringify(body) }
  return makeImages(request, reply, attempts, deps, { ...order, name: 'image_generation', fields, partialImages })
}

/** What a door of pictures makes. */
export type ImagesOrder = Pick<StreamOrder, 'model' | 'input' | 'count' | 'body' | 'name' | 'fields'> & {
  /** The door's names of the model's fields, where they differ. */
  readonly names: Readonly<Record<string, string>>
  /** The most drafts of a stream; null for one answer. */
  readonly partialImages: number | null
}

/** Makes pictures once, and answers with them: as events, or when they are made. */
export async function makeImages(
  request: FastifyRequest,
  reply: FastifyReply,
  attempts: Attempts,
  deps: DoorDeps,
  { partialImages, names, ...images }: ImagesOrder,
): Promise<object> {
  const { fields } = images
  const asUrls = fields.response_format === 'url'
  const order = { ...images, maxCredits: fields.max_credits ?? null, asUrls }
  try {
    if (partialImages !== null) return await streamImage(request, reply, attempts, deps, { ...order, partialImages })
    const jobs = await fulfil(request, reply, attempts, deps, order)
    const outputs = outputsOf(jobs)
    const described = describeImages(fields, jobs, outputs)
    if (asUrls) return { ...described, data: outputs.map(({ url }) => ({ url })) }
    const { bytes, body } = await writePictures(described, outputs, deps.openOutput)
    return await reply.type('application/json; charset=utf-8').header('content-length', bytes).send(body)
  } catch (error) {
    throw nameFields(toMediagenError(error), names)
  }
}
