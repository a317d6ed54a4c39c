// The client of mediagen for browsers and Node.
//
//   const mediagen = createClient({ url: 'http://127.0.0.1:8080', key: 'mgk_…' })
//   const job = await mediagen.generate('builtin/image/poster/text-to-image', { title: 'Jazz tonight' }, { maxCredits: 5 })
//   const picture = await mediagen.download(job.outputs[0])
import { followJob, type FollowOptions } from './follow.ts'
import { generate, type GenerateOptions, run, type RunOptions, startGeneration } from './generate.ts'
import { type Connection, createHttp } from './http.ts'
import { toDeliveryPath, toFilePath, toJobPath, toModelPath, toWebhookPath } from './paths.ts'
import type {
  Delivery,
  Entry,
  File,
  Input,
  Job,
  Model,
  ModelDetail,
  Output,
  Page,
  Quote,
  RotatedWebhook,
  Usage,
  Wallet,
  WebhookTest,
} from './records.ts'

export { JobFailed, mayPass, Refused, TooExpensive, Unreachable } from './errors.ts'
export type { FollowOptions } from './follow.ts'
export type { GenerateOptions, RunOptions } from './generate.ts'
export type { Connection } from './http.ts'
export * from './records.ts'

/** Which page of a list, and what filters it. */
export type ListOptions = Readonly<Record<string, string | number | undefined>>

/** How a file is uploaded. */
export interface UploadOptions {
  /** Told 0 … 1, in a browser. */
  readonly onProgress?: ((fraction: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

const remove = { method: 'DELETE' }

/** A client of one server with one key. Every method throws `Refused` or `Unreachable`, besides what it says itself. */
export interface MediagenClient {
  /** What one model and one input cost. Charges nothing. */
  quote(model: string, input: Input, signal?: AbortSignal): Promise<Quote>
  /** Quotes and starts; returns the job without waiting for it. @throws TooExpensive */
  start(model: string, input: Input, options?: GenerateOptions): Promise<Job>
  /** Quotes, starts and waits; returns the job with its outputs. @throws TooExpensive, JobFailed */
  generate(model: string, input: Input, options?: GenerateOptions): Promise<Job>
  /** Starts in one request if it costs at most `maxCredits`, and waits; returns the job with its outputs. @throws JobFailed */
  run(model: string, input: Input, options: RunOptions): Promise<Job>
  /** Waits for the end of a job that was started before. */
  follow(jobId: string, options?: FollowOptions): Promise<Job>
  job(jobId: string): Promise<Job>
  /** @param options `status`, `model`, `search`, `label` (such as `team:ads`), `idempotency_key`, `limit`, `offset` */
  jobs(options?: ListOptions): Promise<Page<Job>>
  /** An ended job as a zip archive, its body unread: record, input, files. */
  bundle(jobId: string, signal?: AbortSignal): Promise<Response>
  /** Asks to cancel; a job that has ended stays as it is. */
  cancel(jobId: string): Promise<Job>
  /** @param options `search`, `category`, `limit`, `offset` */
  models(options?: ListOptions): Promise<Page<Model>>
  model(id: string): Promise<ModelDetail>
  wallet(): Promise<Wallet>
  entries(options?: ListOptions): Promise<Page<Entry>>
  /** What jobs were charged. @param options `from`, `to`, `group_by` (such as `day,label:team`), `limit`, `offset` */
  usage(options?: ListOptions): Promise<Usage>
  /** The same as CSV, whole unless there is a `limit`. */
  usageTable(options?: ListOptions): Promise<string>
  /** Stores a picture, a video or a sound; its `file_id` is a value for a media field of an input. */
  upload(file: Blob, options?: UploadOptions): Promise<File>
  /** Uploads, newest first. @param options `limit`, `offset` */
  files(options?: ListOptions): Promise<Page<File>>
  removeFile(fileId: string): Promise<void>
  /** Removes a job that has ended, with its outputs. */
  removeJob(jobId: string): Promise<void>
  /** Gives a webhook endpoint another secret; for a day messages are signed with the one before it, too. */
  rotateWebhookSecret(webhookId: string): Promise<RotatedWebhook>
  /** Sends a signed `webhook.test` to an endpoint now; the answer says what came of it. */
  testWebhook(webhookId: string): Promise<WebhookTest>
  /** Sends a delivery again at once, with the full number of attempts. */
  redeliver(webhookId: string, deliveryId: string): Promise<Delivery>
  /** The bytes of an output. @throws Error if its file has expired */
  download(output: Pick<Output, 'url'> | undefined, signal?: AbortSignal): Promise<Blob>
}

/** Creates a client. */
export function createClient(connection: Connection): MediagenClient {
  const http = createHttp(connection)
  const fetch = connection.fetch ?? globalThis.fetch.bind(globalThis)
  return {
    quote: (model, input, signal) => http.json('/v1/quotes', { body: { model, input }, signal }),
    start: (model, input, options) => startGeneration(http, model, input, options),
    generate: (model, input, options) => generate(http, model, input, options),
    run: (model, input, options) => run(http, model, input, options),
    follow: (jobId, options) => followJob(http, jobId, options),
    job: async (jobId) => http.json(toJobPath(jobId)),
    jobs: (options) => http.json(`/v1/jobs${toQuery(options)}`),
    bundle: async (jobId, signal) => http.open(`${toJobPath(jobId)}/bundle`, { signal }),
    cancel: async (jobId) => http.json(`${toJobPath(jobId)}/cancel`, { method: 'POST' }),
    models: (options) => http.json(`/v1/models${toQuery(options)}`),
    model: async (id) => http.json(toModelPath(id)),
    wallet: () => http.json('/v1/wallet'),
    entries: (options) => http.json(`/v1/wallet/entries${toQuery(options)}`),
    usage: (options) => http.json(`/v1/usage${toQuery(options)}`),
    usageTable: async (options) => (await http.open(`/v1/usage${toQuery({ ...options, format: 'csv' })}`)).text(),
    upload: (content, options) => http.json('/v1/files', { ...options, content }),
    files: (options) => http.json(`/v1/files${toQuery(options)}`),
    removeFile: async (fileId) => void (await http.open(toFilePath(fileId), remove)),
    removeJob: async (jobId) => void (await http.open(toJobPath(jobId), remove)),
    rotateWebhookSecret: async (webhookId) =>
      http.json(`${toWebhookPath(webhookId)}/rotate-secret`, { method: 'POST' }),
    testWebhook: async (webhookId) => http.json(`${toWebhookPath(webhookId)}/test`, { method: 'POST' }),
    redeliver: async (webhookId, deliveryId) =>
      http.json(`${toDeliveryPath(webhookId, deliveryId)}/redeliver`, { method: 'POST' }),
    async download(output, signal) {
      if (!output?.url) throw new Error('The file of this output has expired.')
      // The URL is signed and needs no key.
      const response = await fetch(output.url, { signal: signal ?? null })
      if (!response.ok) throw new Error(`The file could not be downloaded: HTTP ${response.status}.`)
      return response.blob()
    },
  }
}

function toQuery(options: ListOptions = {}): string {
  const given = Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
