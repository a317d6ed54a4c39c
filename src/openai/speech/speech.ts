// POST /v1/audio/speech: text as speech, for programs that speak OpenAI's interface. docs/openai.md.
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Modality } from '../../../gen/mediagen/v1/catalog_pb.ts'
import { nameStream } from '../../gateway/events.ts'
import { toMediagenError } from '../../gateway/problems/problem.ts'
import { readQuery } from '../../gateway/query.ts'
import type { Attempts } from '../attempts.ts'
import { type DoorDeps, doorErrors, doorHeaders, doorQuery, findModel, fulfil } from '../door.ts'
import { nameFields } from '../images/image-request.ts'
import { outputsOf } from '../outputs.ts'
import { type SpeechBody, toSpeechOrder } from './speech-request.ts'

/** What the door of speech needs. */
export interface SpeechDeps extends DoorDeps {
  /** Name of the model where none is sent; null for none. */
  readonly speechModel: string | null
}

const nullable = (type: string, rest: object = {}): object => ({ type: [type, 'null'], ...rest })

const bodySchema = {
  type: 'object',
  // Fields that the model has are passed to it; others are refused by name.
  additionalProperties: true,
  required: ['input'],
  properties: {
    model: nullable('string', { description: 'Model id or alias; that of the server where none is sent.' }),
    input: { type: 'string', minLength: 1, maxLength: 4096, description: 'What to say.' },
    voice: {
      anyOf: [
        nullable('string', { minLength: 1 }),
        {
          type: 'object',
          required: ['id'],
          properties: { id: { type: 'string', minLength: 1 } },
          additionalProperties: false,
        },
      ],
      description: 'Who speaks: an `id` of `GET /v1/audio/voices`, as text or as `{ "id" }`.',
    },
    instructions: nullable('string', { maxLength: 4096, description: 'How to speak, for models that take it.' }),
    response_format: nullable('string', { description: "Such as `mp3`; by default the model's own." }),
    speed: nullable('number', { minimum: 0.25, maximum: 4, description: '1 is the usual pace.' }),
    stream_format: { enum: ['audio', 'sse', null], description: 'The bytes or events; `audio` by default.' },
    max_credits: nullable('integer', { minimum: 0, description: 'The most that it may cost.' }),
  },
} as const

/** The model of a request for speech. */
export function findSpeechModel(request: FastifyRequest, deps: SpeechDeps, name: string | null | undefined) {
  return findModel(request, deps.core, {
    name,
    fallback: deps.speechModel,
    setting: 'MEDIAGEN_OPENAI_SPEECH_MODEL',
    modality: Modality.AUDIO,
    makes: 'sounds',
  })
}

/** Adds the route. */
export function addSpeech(door: FastifyInstance, attempts: Attempts, deps: SpeechDeps): void {
  door.post<{ Body: SpeechBody }>(
    '/v1/audio/speech',
    {
      config: { permission: 'generate', conflictStatus: 422 },
      schema: {
        operation: {
          id: 'createSpeech',
          summary: "Speak a text as OpenAI's interface does. The answer is the sound when it is made.",
          query: doorQuery,
          headers: doorHeaders,
          answers: {
            200: {
              description: 'The sound, or with `stream_format: sse` events that carry it.',
              content: { 'audio/*': {}, 'text/event-stream': { schema: { type: 'string' } } },
            },
            422: { description: 'The Idempotency-Key was used with another request (`idempotency_key_reused`).' },
          },
          errors: doorErrors,
        },
        body: bodySchema,
      },
    },
    (request, reply) => answerSpeech(request, reply, attempts, deps),
  )
}

async function answerSpeech(
  request: FastifyRequest<{ Body: SpeechBody }>,
  reply: FastifyReply,
  attempts: Attempts,
  deps: SpeechDeps,
): Promise<FastifyReply> {
  readQuery(request, doorQuery)
  const { body } = request
  const model = await findSpeechModel(request, deps, body.model)
  const { input, names } = toSpeechOrder(body, model)
  const jobs = await fulfil(request, reply, attempts, deps, {
    model: model.id,
    input,
    count: 1,
    maxCredits: body.max_credits ?? null,
    body: JSON.stringify(body),
    asUrls: false,
  }).catch((error: unknown) => {
    throw nameFields(toMediagenError(error), names)
  })
  const [output] = outputsOf(jobs)
  if (!output) throw new Error('the job has no output')
  const content = await deps.openOutput(output)
  if (body.stream_format === 'sse') return nameStream(reply).send(Readable.from(toEvents(content)))
  return reply.type(output.contentType).header('content-length', Number(output.bytes)).send(content)
}

/** The sound in pieces, each in base64, and the end. */
async function* toEvents(content: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  for await (const piece of content)
    yield toEvent({ type: 'speech.audio.delta', audio: Buffer.from(piece as Buffer).toString('base64') })
  // Credits are charged, not tokens.
  yield toEvent({ type: 'speech.audio.done', usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } })
}

function toEvent(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
