// Fakes of Google's Gemini API, xAI, Black Forest Labs and ElevenLabs, as their packages of the AI SDK speak to them. What is
// accepted costs money. Both sides are held to what the services publish.
import { type FakeAnswer, type FakeRequest, type FakeUpstream, tinyPng } from './fake.ts'
import { keepToPublished } from './published.ts'

/** A fake that counts what it accepted. */
export interface PaidFake extends FakeUpstream {
  readonly paid: number
  /** States of what runs there or ran, in order. */
  readonly runs: readonly { readonly id: string; readonly status: string }[]
}

interface FakeOptions {
  readonly token?: string
  /** How often a run is asked for before it ends. */
  readonly polls?: number
  /** Why every run fails. */
  readonly fails?: string
}

interface Run {
  readonly id: string
  polls: number
  status: 'running' | 'succeeded' | 'failed'
}

type Fields = Readonly<Record<string, unknown>>

function createRuns({ polls = 2, fails }: FakeOptions) {
  const state = { paid: 0, runs: [] as Run[] }
  return {
    state,
    start(): Run {
      state.paid += 1
      const run: Run = { id: `r${state.runs.length + 1}`, polls: 0, status: 'running' }
      state.runs.push(run)
      return run
    },
    /** Asks for a run once more. */
    look(id: string): Run | undefined {
      const run = state.runs.find((one) => one.id === id)
      if (run?.status === 'running' && ++run.polls > polls) run.status = fails === undefined ? 'succeeded' : 'failed'
      return run
    },
  }
}

function toFields({ json }: FakeRequest): Fields {
  return (json ?? {}) as Fields
}

const film: FakeAnswer = { status: 200, headers: { 'content-type': 'video/mp4' }, body: tinyPng }

/** A fake Gemini API: pictures of Gemini in one answer, films of Veo as operations; its files want the key, too. */
export function createFakeGoogle(options: FakeOptions & { readonly finish?: string } = {}): PaidFake {
  const { token, fails, finish } = options
  const runs = createRuns(options)
  const refuse = (code: number, message: string): FakeAnswer => ({
    status: code,
    json: { error: { code, message, status: 'INVALID_ARGUMENT' } },
  })

  function makePicture({ contents, generationConfig }: Fields): FakeAnswer {
    const modalities = (generationConfig as Fields | undefined)?.['responseModalities']
    if (!Array.isArray(contents) || JSON.stringify(modalities) !== '["IMAGE"]')
      return refuse(400, 'contents is not set')
    runs.state.paid += 1
    const inlineData = { mimeType: 'image/png', data: tinyPng.toString('base64') }
    const content = finish === undefined || finish === 'CONTINUATION' ? { parts: [{ inlineData }] } : {}
    const candidate = { content, finishReason: finish ?? 'STOP', ...(finish && { continuationToken: 'more' }) }
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 1290, totalTokenCount: 1300 }
    return { status: 200, json: { candidates: [candidate], usageMetadata } }
  }

  function show(id: string, origin: string): FakeAnswer {
    const run = runs.look(id)
    if (!run) return refuse(404, `Operation ${id} not found.`)
    const name = `models/veo/operations/${id}`
    if (run.status === 'running') return { status: 200, json: { name } }
    const made = { generatedSamples: [{ video: { uri: `${origin}/v1beta/files/${id}:download?alt=media` } }] }
    const filtered = { raiMediaFilteredCount: 1, raiMediaFilteredReasons: [fails] }
    const generateVideoResponse = run.status === 'succeeded' ? made : filtered
    return { status: 200, json: { name, done: true, response: { generateVideoResponse } } }
  }

  return keepToPublished(
    'google',
    Object.assign(runs.state, {
      answer(request: FakeRequest): FakeAnswer {
        const { method, path, headers, origin } = request
        if (token !== undefined && headers['x-goog-api-key'] !== token)
          return refuse(400, 'API key not valid. Please pass a valid API key.')
        if (path === '/v1beta/models') return { status: 200, json: { models: [] } }
        const [, operation] = /^\/v1beta\/models\/veo\/operations\/([^/]+)$/.exec(path) ?? []
        if (method === 'GET' && operation) return show(operation, origin)
        if (method === 'GET' && path.startsWith('/v1beta/files/')) return film
        if (method === 'POST' && path.endsWith(':generateContent')) return makePicture(toFields(request))
        if (method !== 'POST' || !path.endsWith(':predictLongRunning')) return refuse(404, 'Not found.')
        const [instance] = (toFields(request)['instances'] ?? []) as Fields[]
        if (typeof instance?.['prompt'] !== 'string') return refuse(400, 'prompt is not set')
        return { status: 200, json: { name: `models/veo/operations/${runs.start().id}` } }
      },
    }),
  )
}

/** A fake xAI: pictures in one answer, films that are asked for with 202 until they are done. */
export function createFakeXai(options: FakeOptions & { readonly answersUrls?: boolean } = {}): PaidFake {
  const { token, fails, answersUrls } = options
  const runs = createRuns(options)
  const usage = { cost_in_usd_ticks: 200_000_000 }
  const refuse = (status: number, error: string): FakeAnswer => ({ status, json: { code: 'invalid', error } })

  function makePictures({ prompt, n, response_format: format }: Fields, origin: string): FakeAnswer {
    if (typeof prompt !== 'string' || format !== 'b64_json') return refuse(422, 'prompt is missing')
    runs.state.paid += 1
    const picture = answersUrls ? { url: `${origin}/files/1.png` } : { b64_json: tinyPng.toString('base64') }
    const blocked = fails === undefined ? {} : { respect_moderation: false }
    const data = Array.from({ length: Number(n) }, () => ({ ...picture, ...blocked }))
    return { status: 200, json: { data, usage } }
  }

  function show(id: string, origin: string): FakeAnswer {
    const run = runs.look(id)
    if (!run) return refuse(404, 'no such request')
    if (run.status === 'running') return { status: 202, body: '' }
    if (run.status === 'failed')
      return { status: 200, json: { status: 'failed', progress: 0, error: { code: 'internal_error', message: fails } } }
    const video = { url: `${origin}/files/${id}.mp4`, duration: 6, respect_moderation: true }
    return { status: 200, json: { status: 'done', progress: 100, video, model: 'grok-imagine-video', usage } }
  }

  return keepToPublished(
    'xai',
    Object.assign(runs.state, {
      answer(request: FakeRequest): FakeAnswer {
        const { method, path, headers, origin } = request
        if (path.startsWith('/files/')) return film
        if (token !== undefined && headers['authorization'] !== `Bearer ${token}`)
          return refuse(400, `Incorrect API key provided: ${headers['authorization']}`)
        if (path === '/v1/api-key') return { status: 200, json: { name: 'key', acls: ['api-key:model:*'] } }
        if (method === 'POST' && path === '/v1/images/generations') return makePictures(toFields(request), origin)
        if (method === 'GET') return show(path.replace('/v1/videos/', ''), origin)
        if (path !== '/v1/videos/generations') return refuse(404, 'no such route')
        if (typeof toFields(request)['prompt'] !== 'string') return refuse(422, 'prompt is missing')
        return { status: 200, json: { request_id: runs.start().id } }
      },
    }),
  )
}

/** A fake Black Forest Labs: pictures and films alike are tasks with an address to ask. */
export function createFakeBfl(options: FakeOptions & { readonly failedStatus?: string } = {}): PaidFake {
  const { token, fails, failedStatus = 'Error' } = options
  const runs = createRuns(options)

  function show(id: string, origin: string): FakeAnswer {
    const run = runs.look(id)
    if (!run) return { status: 200, json: { id, status: 'Task not found', result: null } }
    if (run.status === 'running') return { status: 200, json: { id, status: 'Pending', result: null } }
    if (run.status === 'failed')
      return { status: 200, json: { id, status: failedStatus, result: null, details: fails } }
    const result = { sample: `${origin}/delivery/${id}.png?se=2026&sig=signed`, seed: 1, duration: 2.5 }
    return { status: 200, json: { id, status: 'Ready', result } }
  }

  return keepToPublished(
    'black-forest-labs',
    Object.assign(runs.state, {
      answer(request: FakeRequest): FakeAnswer {
        const { method, path, headers, origin, query } = request
        if (path.startsWith('/delivery/'))
          return { status: 200, headers: { 'content-type': 'image/png' }, body: tinyPng }
        if (token !== undefined && headers['x-key'] !== token)
          return { status: 403, json: { detail: `Not authenticated: ${headers['x-key']}` } }
        if (path === '/v1/credits') return { status: 200, json: { credits: 100 } }
        if (path === '/v1/get_result') return show(query.get('id') ?? '', origin)
        if (method !== 'POST') return { status: 404, json: { detail: 'Not Found' } }
        if (typeof toFields(request)['prompt'] !== 'string')
          return {
            status: 422,
            json: { detail: [{ loc: ['body', 'prompt'], msg: 'Field required', type: 'missing' }] },
          }
        const { id } = runs.start()
        return { status: 200, json: { id, polling_url: `${origin}/v1/get_result?id=${id}`, cost: 4, output_mp: 1 } }
      },
    }),
  )
}

/** A fake ElevenLabs: speech in one answer. */
export function createFakeElevenlabs({ token }: FakeOptions = {}): PaidFake {
  const { state } = createRuns({})
  const refuse = (status: number, kind: string, message: string): FakeAnswer => ({
    status,
    json: { detail: { status: kind, message } },
  })
  return keepToPublished(
    'elevenlabs',
    Object.assign(state, {
      answer(request: FakeRequest): FakeAnswer {
        const { method, path, headers } = request
        if (token !== undefined && headers['xi-api-key'] !== token)
          return refuse(401, 'invalid_api_key', 'Invalid API key')
        if (path === '/v1/user') return { status: 200, json: { user_id: 'u1' } }
        if (method !== 'POST' || !/^\/v1\/text-to-speech\/[^/]+$/.test(path))
          return refuse(404, 'not_found', 'Not Found')
        if (typeof toFields(request)['text'] !== 'string') return refuse(422, 'invalid', 'text is required')
        state.paid += 1
        return { status: 200, headers: { 'content-type': 'audio/mpeg' }, body: Buffer.from('ID3 sound') }
      },
    }),
  )
}
