// A fake OpenAI: pictures, edits, speech and videos. What it is asked and what it answers are checked against the published
// OpenAPI document; it answers 400 to a request that is not valid, and throws when its own answer is not.
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FakeAnswer, FakeRequest, FakeUpstream } from './fake.ts'
import { tinyPng } from './fake.ts'
import { readMultipart } from './multipart.ts'

// `nullable` is OpenAPI 3.0's; we send no nulls.
const document = JSON.parse(
  readFileSync(new URL('../data/openai-media.json', import.meta.url), 'utf8'),
  (key, value: unknown) => (key === 'nullable' ? undefined : value),
) as { components: object }
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema({ $id: 'openai', components: document.components })

/** What is wrong with a value by a schema of the document; null if it is valid. */
export function checkOpenai(schema: string, value: unknown): string | null {
  const validate = ajv.getSchema(`openai#/components/schemas/${schema}`)
  if (!validate) throw new Error(`the document has no ${schema}`)
  return validate(value) ? null : ajv.errorsText(validate.errors)
}

interface Video {
  readonly id: string
  readonly prompt: string
  readonly size: string
  readonly seconds: string
  readonly createdAt: number
  status: 'queued' | 'in_progress' | 'completed' | 'failed'
  polls: number
}

/** A fake OpenAI; every answer to a POST costs money. */
export function createFakeOpenai(options: {
  readonly nowMs: () => number
  readonly token?: string
  readonly polls?: number
  readonly fails?: string
  /** Answers URLs unless asked for base64, as LocalAI does. */
  readonly answersUrls?: boolean
}): FakeUpstream & { paid: number; readonly videos: Map<string, Video>; readonly wrong: string[] } {
  const { nowMs, token, polls = 2, fails, answersUrls = false } = options
  const videos = new Map<string, Video>()
  const wrong: string[] = []
  const state = { paid: 0 }

  function refuse(message: string, status = 400): FakeAnswer {
    const json = { error: { message, type: 'invalid_request_error', param: null, code: null } }
    return valid('ErrorResponse', { status, json })
  }

  function valid(schema: string, answer: FakeAnswer): FakeAnswer {
    const fault = checkOpenai(schema, answer.json)
    if (fault) throw new Error(`the fake answers no ${schema}: ${fault}`)
    return answer
  }

  /** Forms carry texts; numbers are checked as such. */
  function checked(
    schema: string,
    request: FakeRequest,
    make: (fields: Record<string, unknown>) => FakeAnswer,
  ): FakeAnswer {
    const isForm = (request.headers['content-type'] ?? '').startsWith('multipart/')
    const fields = (isForm ? toFields(readMultipart(request)) : request.json) as Record<string, unknown>
    const fault = checkOpenai(schema, fields)
    if (fault === null) {
      state.paid += 1
      return make(fields)
    }
    wrong.push(fault)
    return refuse(fault)
  }

  function makeImages({ response_format: format, model, n = 1 }: Record<string, unknown>, origin: string): FakeAnswer {
    // The GPT image models refuse the parameter.
    if (format !== undefined && String(model).startsWith('gpt-image'))
      return refuse("Unknown parameter: 'response_format'.")
    const data = Array.from({ length: Number(n) }, () =>
      answersUrls && format !== 'b64_json'
        ? { url: `${origin}/files/1.png` }
        : { b64_json: tinyPng.toString('base64') },
    )
    const usage = {
      input_tokens: 10,
      output_tokens: 20,
      total_tokens: 30,
      input_tokens_details: { text_tokens: 10, image_tokens: 0 },
    }
    return valid('ImagesResponse', { status: 200, json: { created: Math.floor(nowMs() / 1000), data, usage } })
  }

  function makeVideo({ prompt, size = '720x1280', seconds = '4' }: Record<string, unknown>): FakeAnswer {
    const id = `video_${videos.size + 1}`
    videos.set(id, {
      id,
      prompt: String(prompt),
      size: String(size),
      seconds: String(seconds),
      createdAt: Math.floor(nowMs() / 1000),
      status: 'queued',
      polls: 0,
    })
    return show(id)
  }

  function toResource(video: Video): object {
    return {
      id: video.id,
      object: 'video',
      model: 'sora-2',
      status: video.status,
      progress: video.status === 'completed' ? 100 : video.polls * 10,
      created_at: video.createdAt,
      completed_at: null,
      expires_at: null,
      prompt: video.prompt,
      size: video.size,
      seconds: video.seconds,
      remixed_from_video_id: null,
      error: video.status === 'failed' ? { code: 'failed', message: fails ?? '' } : null,
    }
  }

  function show(id: string): FakeAnswer {
    return valid('VideoResource', { status: 200, json: toResource(videos.get(id) as Video) })
  }

  function answerVideo({ method, path }: FakeRequest): FakeAnswer {
    const [, id = '', content] = /^\/v1\/videos\/([^/]+)(\/content)?$/.exec(path) ?? []
    const video = videos.get(id)
    if (!video) return refuse(`No video ${id}.`, 404)
    if (method === 'DELETE') {
      videos.delete(id)
      return valid('DeletedVideoResource', { status: 200, json: { id, object: 'video.deleted', deleted: true } })
    }
    if (content) return { status: 200, headers: { 'content-type': 'video/mp4' }, body: tinyPng }
    if (video.status === 'queued' || video.status === 'in_progress') {
      video.polls += 1
      video.status = video.polls <= polls ? 'in_progress' : fails === undefined ? 'completed' : 'failed'
    }
    return show(id)
  }

  return Object.assign(state, {
    videos,
    wrong,
    answer(request: FakeRequest): FakeAnswer {
      const { method, path, headers, origin } = request
      if (path.startsWith('/files/')) return { status: 200, headers: { 'content-type': 'image/png' }, body: tinyPng }
      if (token !== undefined && headers['authorization'] !== `Bearer ${token}`)
        return refuse(`Incorrect API key provided: ${headers['authorization']}.`, 401)
      switch (`${method} ${path}`) {
        case 'GET /v1/models':
          return { status: 200, json: { object: 'list', data: [] } }
        case 'POST /v1/images/generations':
          return checked('CreateImageRequest', request, (fields) => makeImages(fields, origin))
        case 'POST /v1/images/edits':
          return checked('CreateImageEditRequest', request, (fields) => makeImages(fields, origin))
        case 'POST /v1/audio/speech':
          return checked('CreateSpeechRequest', request, () => ({
            status: 200,
            headers: { 'content-type': 'audio/mpeg' },
            body: Buffer.from('ID3 sound'),
          }))
        case 'POST /v1/videos':
          return checked('CreateVideoMultipartBody', request, makeVideo)
        case 'GET /v1/videos': {
          const data = [...videos.values()].toReversed().map(toResource)
          return valid('VideoListResource', {
            status: 200,
            json: { object: 'list', data, first_id: null, last_id: null, has_more: false },
          })
        }
        default:
          return path.startsWith('/v1/videos/') ? answerVideo(request) : refuse(`Invalid URL (${method} ${path})`, 404)
      }
    },
  })
}

function toFields(form: Record<string, string | string[]>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(form).map(([name, value]) => {
      // OpenAI reads `image[]` as `image`.
      const field = name.replace(/\[\]$/, '')
      return [field, field === 'n' ? Number(value) : value]
    }),
  )
}
