// Calls of models as jobs of a server.
import { APICallError, type JSONObject, type SharedV4ProviderOptions, type SharedV4Warning } from '@ai-sdk/provider'
import { createClient, type MediagenClient } from '@mediagen/client/client.ts'
import { Refused } from '@mediagen/client/errors.ts'
import { toJobPath } from '@mediagen/client/paths.ts'
import type { Input, Job, ModelDetail, Output } from '@mediagen/client/records.ts'
import { createDraft, type Draft, type Fields } from './draft.ts'
import { toCallError, toDownloadError } from './errors.ts'
import { type Attempt, type Call, createKeyring, type Keys } from './keys.ts'
import { toReference } from './media.ts'
import { type MediagenSettings, readOrder } from './settings.ts'

/** What every call of a model has. */
export interface ModelCall extends Call {
  readonly providerOptions?: SharedV4ProviderOptions | undefined
  readonly abortSignal?: AbortSignal | undefined
}

/** A call whose end may be sent to a URL. */
export interface VideoCall extends ModelCall {
  readonly webhookUrl?: string | undefined
}

/** An answer of the server, as results of the AI SDK show it. */
export interface ResponseInfo {
  timestamp: Date
  modelId: string
  headers: Record<string, string>
}

/** What became of a call. */
export interface JobAnswer {
  readonly job: Job
  readonly warnings: SharedV4Warning[]
  readonly response: ResponseInfo
}

/** The jobs of a provider. All throw `APICallError`, or what the call was aborted with. */
export interface Jobs {
  /**
   * Starts the job of a call, or finds the one that an earlier try has started.
   * @param write writes what the call says into the draft of the input
   */
  start(modelId: string, call: VideoCall, write: (draft: Draft) => void): Promise<JobAnswer>
  /** Starts it, waits for its end and downloads its outputs of this modality. */
  make(
    modelId: string,
    call: ModelCall,
    modality: string,
    write: (draft: Draft) => void,
  ): Promise<JobAnswer & { readonly files: Uint8Array[] }>
  /** The record of a job. */
  read(jobId: string, call: ModelCall): Promise<Omit<JobAnswer, 'warnings'>>
  /** The bytes of an output. */
  download(job: Job, output: Output, call: ModelCall): Promise<Uint8Array>
}

/** Creates the jobs of a provider. @throws TypeError if `baseURL` is none */
export function createJobs(settings: MediagenSettings): Jobs {
  const base = new URL(settings.baseURL).href.replace(/\/+(v1\/*)?$/, '')
  const keysOf = createKeyring()
  const schemas = new Map<string, Promise<Fields>>()

  /** A client whose requests carry the headers of a call, and the headers of the answer at a path. */
  function open(call: Call, path = ''): { client: MediagenClient; answered: Record<string, string> } {
    const answered: Record<string, string> = {}
    const send = settings.fetch ?? globalThis.fetch.bind(globalThis)
    const sendWithHeaders: typeof fetch = async (url, init) => {
      // Files may be elsewhere.
      if (!String(url).startsWith(`${base}/v1/`)) return send(url, init)
      const headers = new Headers(settings.headers)
      for (const [name, value] of Object.entries(call.headers ?? {})) if (value !== undefined) headers.set(name, value)
      headers.delete('idempotency-key')
      for (const [name, value] of new Headers(init?.headers)) headers.set(name, value)
      const response = await send(url, { ...init, headers })
      if (url === base + path) Object.assign(answered, Object.fromEntries(response.headers))
      return response
    }
    return { client: createClient({ url: base, key: settings.apiKey, fetch: sendWithHeaders }), answered }
  }

  function readFields(modelId: string, client: MediagenClient): Promise<Fields> {
    const known = schemas.get(modelId)
    if (known) return known
    const reading = client.model(modelId).then(findFields)
    schemas.set(modelId, reading)
    // What failed is asked for again.
    reading.catch(() => schemas.delete(modelId))
    return reading
  }

  /** Starts, or finds, the job of a call; `finish` is part of what is repeated. */
  async function run<Result>(
    modelId: string,
    call: VideoCall,
    write: (draft: Draft) => void,
    wait: boolean,
    finish: (job: Job) => Result | Promise<Result>,
  ): Promise<JobAnswer & { readonly result: Result }> {
    const { maxCredits, input: ordered } = readOrder(settings, call.providerOptions)
    const { client, answered } = open(call, '/v1/run')
    const keys = keysOf(call)
    const { abortSignal: signal, webhookUrl } = call
    const sent = {
      url: `${base}/v1/run`,
      requestBodyValues: { model: modelId, input: ordered, max_credits: maxCredits },
    }
    let attempt: Attempt | null = null
    try {
      const draft = createDraft(modelId, await untilAborted(readFields(modelId, client), signal))
      write(draft)
      const input = { ...(await fillIn(draft, client, keys, signal)), ...ordered }
      sent.requestBodyValues.input = input
      attempt = keys.take(JSON.stringify(sent.requestBodyValues))
      // It is sent once: the AI SDK repeats it, as often as `maxRetries` says.
      const options = { maxCredits, idempotencyKey: attempt.key, webhookUrl, signal, wait, pausesMs: [] }
      const job = await client.run(modelId, input as Input, options)
      const response = { timestamp: new Date(), modelId, headers: answered }
      return { job, result: await finish(job), warnings: [...draft.warnings], response }
    } catch (error) {
      // Its schema may have changed.
      if (error instanceof Refused && error.code === 'invalid_input') schemas.delete(modelId)
      const shown = toCallError(error, sent)
      if (APICallError.isInstance(shown) && shown.isRetryable) attempt?.giveBack()
      throw shown
    }
  }

  async function download(job: Job, output: Output, call: ModelCall): Promise<Uint8Array> {
    try {
      const file = await open(call).client.download(output, call.abortSignal)
      return new Uint8Array(await file.arrayBuffer())
    } catch (error) {
      call.abortSignal?.throwIfAborted()
      throw toDownloadError(error, job.job_id, { url: output.url ?? '', requestBodyValues: {} })
    }
  }

  return {
    download,
    start: (modelId, call, write) => run(modelId, call, write, false, () => {}),
    async make(modelId, call, modality, write) {
      const { result, ...answer } = await run(modelId, call, write, true, (job) =>
        Promise.all(outputsOf(job, modality).map((output) => download(job, output, call))),
      )
      return { ...answer, files: result }
    },
    async read(jobId, call) {
      const path = toJobPath(jobId)
      const { client, answered } = open(call, path)
      try {
        const job = await untilAborted(client.job(jobId), call.abortSignal)
        return { job, response: { timestamp: new Date(), modelId: job.model, headers: answered } }
      } catch (error) {
        throw toCallError(error, { url: base + path, requestBodyValues: {} })
      }
    },
  }
}

/** Outputs of a modality: `image`, `video` or `audio`. */
export function outputsOf(job: Job, modality: string): Output[] {
  return job.outputs.filter(({ content_type: type }) => type.startsWith(`${modality}/`))
}

/** What `providerMetadata` says of a job. */
export function describeJob(job: Job): { jobId: string; quoted: number; charged: number } {
  return { jobId: job.job_id, quoted: job.billing.quoted, charged: job.billing.charged }
}

async function fillIn(draft: Draft, client: MediagenClient, keys: Keys, signal: AbortSignal | undefined) {
  const references = await Promise.all(
    draft.placements.map(async ({ field, several, file }) => {
      return { field, several, reference: await toReference(file, client, keys, signal) }
    }),
  )
  const input: JSONObject = { ...draft.input }
  for (const { field, several, reference } of references) {
    const before = input[field]
    input[field] = several ? [...(Array.isArray(before) ? before : []), reference] : reference
  }
  return input
}

/** The fields of a model's input: its OpenAPI document has one operation. */
function findFields({ openapi }: ModelDetail): Fields {
  interface Document {
    paths: Record<string, { post: { requestBody: { content: { 'application/json': { schema: JSONObject } } } } }>
  }
  const [path] = Object.values((openapi as unknown as Document).paths)
  return (path?.post.requestBody.content['application/json'].schema['properties'] ?? {}) as Fields
}

/** @throws what `signal` was aborted with */
function untilAborted<Answer>(answer: Promise<Answer>, signal: AbortSignal | undefined): Promise<Answer> {
  if (!signal) return answer
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
