// What Google, xAI, Black Forest Labs and ElevenLabs publish, as far as packages of the AI SDK use it for us; see published.ts.
//
// Looked up on 2026-11-22:
// - google: ai.google.dev/api, generate-content and models, and google.longrunning.Operation; no page describes what is in an
//   operation of Veo, so that is from answers that users of it show
// - xai: "xAI's REST API" 1.0.0, OpenAPI at docs.x.ai (copy of 2026), and docs.x.ai/developers/cost-tracking
// - black-forest-labs: "BFL API", OpenAPI at api.bfl.ai/openapi.json (pages of docs.bfl.ai, copy of 2026)
// - elevenlabs: "ElevenLabs API Documentation" 1.0, OpenAPI (copy of 2026)
import { any, closed, object, type Operation, orNull, record, text, url, whole } from './operation.ts'

const number = { type: 'number' }
const base64 = { type: 'string', pattern: '^[A-Za-z0-9+/]+=*$' }
const list = (items: object) => ({ type: 'array', minItems: 1, items })

const part = record({}, { text, inlineData: record({ mimeType: text, data: base64 }, {}, closed) }, closed)
const candidate = record({ finishReason: text }, { content: record({}, { parts: list(part), role: text }) })
const tokens = { promptTokenCount: whole, candidatesTokenCount: whole, totalTokenCount: whole }
const veoFrame = record({ bytesBase64Encoded: base64, mimeType: text }, {}, closed)
const veoInstance = record(
  { prompt: text },
  { image: veoFrame, lastFrame: veoFrame, referenceImages: list(record({ image: veoFrame, referenceType: text })) },
  closed,
)
const veoVideo = record({ video: record({ uri: url }) })
const veoMade = record({}, { generatedSamples: list(veoVideo), raiMediaFilteredReasons: list(text) })
const operation = record(
  { name: { type: 'string', pattern: '/operations/' } },
  { done: { const: true }, response: record({ generateVideoResponse: veoMade }), error: record({ message: text }) },
  { dependentRequired: { response: ['done'], error: ['done'] } },
)

export const google: readonly Operation[] = [
  {
    method: 'POST',
    path: /^\/v1beta\/models\/[^/]+:generateContent$/,
    body: record(
      { contents: list(record({ parts: list(part) }, { role: { enum: ['user'] } }, closed)) },
      {
        generationConfig: record({}, { responseModalities: list({ enum: ['IMAGE', 'AUDIO', 'TEXT'] }) }),
      },
    ),
    answers: { 200: record({ candidates: list(candidate) }, { usageMetadata: record({}, tokens) }) },
  },
  {
    method: 'POST',
    path: /^\/v1beta\/models\/[^/]+:predictLongRunning$/,
    body: record({ instances: list(veoInstance) }, { parameters: object }, closed),
    answers: { 200: operation },
  },
  { method: 'GET', path: /^\/v1beta\/models\/[^/]+\/operations\/[^/]+$/, answers: { 200: operation } },
  { method: 'GET', path: /^\/v1beta\/files\/[^/]+:download$/, answers: { 200: any } },
  {
    method: 'GET',
    path: /^\/v1beta\/models$/,
    query: record({}, { pageSize: text }, closed),
    answers: { 200: record({ models: { type: 'array' } }) },
  },
]

const imageUrl = record({ url: text }, { type: text })
const mediaUsage = record({ cost_in_usd_ticks: whole })
const videoRatio = { enum: ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3'] }
const deferred = record({ request_id: text })
const xaiVideo = record({ duration: whole, respect_moderation: { type: 'boolean' } }, { url: orNull(text) })
const xaiCodes = { enum: ['invalid_argument', 'permission_denied', 'failed_precondition', 'internal_error'] }
const picture = record({}, { b64_json: orNull(base64), url: orNull(url), mime_type: orNull(text) })

export const xai: readonly Operation[] = [
  {
    method: 'POST',
    path: /^\/v1\/images\/generations$/,
    body: record(
      { model: text, prompt: text },
      { n: { type: 'integer', minimum: 1, maximum: 10 }, response_format: text, aspect_ratio: text, resolution: text },
      closed,
    ),
    answers: { 200: record({ data: list(picture) }, { usage: orNull(mediaUsage) }) },
  },
  {
    method: 'POST',
    path: /^\/v1\/videos\/generations$/,
    body: record(
      { prompt: text },
      {
        model: text,
        duration: { type: 'integer', minimum: 1, maximum: 15 },
        aspect_ratio: videoRatio,
        resolution: { enum: ['480p', '720p', '1080p'] },
        image: imageUrl,
        reference_images: list(imageUrl),
        user: text,
      },
      closed,
    ),
    answers: { 200: deferred },
  },
  {
    method: 'GET',
    path: /^\/v1\/videos\/[^/]+$/,
    answers: {
      200: record(
        { status: { enum: ['done', 'failed'] }, progress: { type: 'integer', minimum: 0, maximum: 100 } },
        {
          video: orNull(xaiVideo),
          usage: orNull(mediaUsage),
          error: orNull(record({ code: xaiCodes, message: text })),
          model: orNull(text),
        },
      ),
      202: any,
    },
  },
  {
    method: 'GET',
    path: /^\/v1\/api-key$/,
    answers: { 200: record({ name: text, acls: { type: 'array', items: text } }) },
  },
]

const bflTask = record(
  { id: text, polling_url: url },
  { cost: orNull(number), input_mp: orNull(number), output_mp: orNull(number) },
)
const bflStatus = ['Pending', 'Ready', 'Error', 'Task not found', 'Request Moderated', 'Content Moderated']
const whatFailed = record({ detail: list(record({ loc: { type: 'array' }, msg: text, type: text })) })

export const blackForestLabs: readonly Operation[] = [
  {
    method: 'POST',
    path: /^\/v1\/flux-[a-z0-9.-]+$/,
    body: record({ prompt: text }, { seed: whole, width: whole, height: whole, aspect_ratio: text, mode: text }),
    answers: { 200: bflTask, 422: whatFailed },
  },
  {
    method: 'GET',
    path: /^\/v1\/get_result$/,
    query: record({ id: text }, {}, closed),
    answers: {
      200: record(
        { id: text, status: { enum: bflStatus } },
        { result: orNull(record({ sample: url })), progress: orNull(number), details: any },
      ),
      422: whatFailed,
    },
  },
  { method: 'GET', path: /^\/v1\/credits$/, answers: { 200: record({ credits: number }) } },
]

export const elevenlabs: readonly Operation[] = [
  {
    method: 'POST',
    path: /^\/v1\/text-to-speech\/[A-Za-z0-9]+$/,
    query: record(
      {},
      {
        output_format: {
          type: 'string',
          pattern: '^(mp3_(22050_32|24000_48|44100_(32|64|96|128|192))|(pcm|wav|opus|ulaw|alaw)_[0-9_]+)$',
        },
        enable_logging: text,
      },
      closed,
    ),
    body: record(
      { text },
      {
        model_id: text,
        language_code: text,
        voice_settings: record(
          {},
          {
            stability: number,
            similarity_boost: number,
            style: number,
            use_speaker_boost: { type: 'boolean' },
            speed: number,
          },
          closed,
        ),
        seed: whole,
        previous_text: text,
        next_text: text,
      },
      closed,
    ),
    answers: { 200: any },
  },
  { method: 'GET', path: /^\/v1\/user$/, answers: { 200: record({ user_id: text }) } },
]
