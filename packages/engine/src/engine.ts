// The port to the programs and services that make media. An engine gets a validated input, a folder, callbacks and a signal, and leaves files.
// It knows nothing about credits, accounts or HTTP.

/** A JSON object, as it came from a client. */
export type JsonObject = { [key: string]: JsonValue }
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject

/** What an engine measured while it ran; usage-billed prices are computed from it (for example `{ seconds: 3.2 }`). */
export type Usage = { readonly [name: string]: number }

/**
 * What may happen to a job whose run was lost or given back: it starts again from the beginning (`again`); another run takes over
 * from the checkpoint (`continue`: the work was submitted to another server); or neither, because it is unknown whether the run
 * cost money (`never`: the job goes to review).
 */
export type AfterLoss = 'again' | 'continue' | 'never'

/**
 * The state of a submission to another server: it is being sent; it was accepted; it was certainly refused; it is unknown whether
 * it was accepted; or it ended. It may still run there in the states `submitting`, `accepted` and `unknown`.
 */
export type UpstreamVerdict = 'submitting' | 'accepted' | 'refused' | 'unknown' | 'succeeded' | 'failed' | 'canceled'

/** A submission to another server, for the record of its operator; it outlives the job. */
export interface UpstreamRun {
  /** Counts the submissions of the job from 1. A later report of the same number updates the record. */
  readonly n: number
  /** The catalog's name of the other server. */
  readonly provider: string
  /** The id that the other server gave the submission; null while unknown. A later null keeps the earlier id. */
  readonly upstreamId: string | null
  readonly verdict: UpstreamVerdict
  /** The cost that the other server reports; null if it reports none. A later null keeps the earlier cost. */
  readonly cost: UpstreamCost | null
}

/** The cost of a submission: as the other server wrote it, and as a number if it is one. */
export interface UpstreamCost {
  readonly text: string
  readonly amount: number | null
  /** For example `USD`. */
  readonly currency: string | null
}

/** Options of a download. */
export interface DownloadOptions {
  /** The origin of the server that made the file, such as `http://10.0.0.7:8188`; allowed though it may not be public. */
  readonly origin?: string
  /** Sent to `origin` alone (for example its credentials), never to another server that it redirects to. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A downloaded file. */
export interface Downloaded {
  readonly bytes: number
  readonly contentType: string | null
}

/** One run of an engine. */
export interface EngineRun {
  readonly jobId: string
  /** Model id. */
  readonly model: string
  /** Opaque name of the run's owner. Scarce resources are shared among owners. */
  readonly owner: string
  /** 1 for the first run of the job. */
  readonly attempt: number
  /** The input, valid by the model's schema, with the schema's defaults applied. */
  readonly input: JsonObject
  /** The last checkpoint of an earlier run of the job, or null. */
  readonly checkpoint: JsonValue
  /** Aborts on cancel, on timeout and when the server stops. The run must end soon after; its outcome is ignored. */
  readonly signal: AbortSignal
  /**
   * The media that the input refers to (`format: media`): absolute paths of local files by JSON pointer, such as `/image` or
   * `/images/0`. Each was recognised by its content as an image, a video or a sound; nothing else was checked. They were fetched
   * before the run began; a run that continues an earlier one fetches them on the first call.
   * @throws EngineError when they cannot be fetched
   */
  media(): Promise<ReadonlyMap<string, string>>
  /** A folder for this run alone, created empty on the first call and removed after the run. */
  folder(): Promise<string>
  /** Reports the progress of the run, 0 … 1. */
  readonly onProgress: (fraction: number) => void
  /**
   * Saves a checkpoint for a later run of the same job, and the record of a submission with it. Durable when it resolves. It
   * waits as long as the store cannot write.
   * @throws ClaimLost when the job is no longer this run's: then nothing may be sent to another server
   */
  saveCheckpoint(checkpoint: JsonValue, upstream?: UpstreamRun): Promise<void>
  /**
   * Awaits the run's turn at another server. The time limit does not count meanwhile; a deadline and a cancel end the run all
   * the same.
   */
  waiting<Result>(turn: Promise<Result>): Promise<Result>
  /**
   * Shows a draft picture to the watchers of the job: the name of a file in the folder, which is moved away from there. It is never
   * billed, and removed when the job ends. A draft replaces an earlier one that is not shown yet.
   */
  preview(file: string): void
  /**
   * Downloads a file into the folder, within the server's limits of size and time, from public addresses and `origin`. A
   * failure that may pass is tried again as long as the job may run.
   * @throws EngineError
   */
  download(url: string, file: string, options?: DownloadOptions): Promise<Downloaded>
}

/** The result of a successful run. */
export interface EngineResult {
  /** Names of the output files in the run's folder, in display order; empty only from an engine that makes nothing. */
  readonly files: readonly string[]
  readonly usage: Usage
  /** Whether another server bills the run: a file of it that cannot be served is kept for the operator. Default: no. */
  readonly isPaid?: boolean
  /** How many files the run made, where not all of them could be had. Default: as many as there are in `files`. */
  readonly made?: number
  /** What the other server calls the model that made them. Default: null, no other server did. */
  readonly upstreamModel?: string | null
}

/** The engine settings of a catalog entry: a kind and the settings of that kind. */
export interface EngineSpec {
  readonly kind: string
  readonly [setting: string]: unknown
}

/** A job without a run, as an engine sees it. */
export interface PastRun {
  readonly jobId: string
  /** Model id. */
  readonly model: string
  /** The checkpoint of its last run. */
  readonly checkpoint: JsonValue
  /** Aborts when the answer takes too long or the server stops. */
  readonly signal: AbortSignal
}

/** The result of a question about a submission whose outcome was unknown. */
export type Reconciled =
  | { readonly state: 'unknown' }
  /** The job is queued again with this checkpoint, and `afterLoss` says how it goes on. */
  | { readonly state: 'known'; readonly checkpoint: JsonValue; readonly upstream?: UpstreamRun }
  | { readonly state: 'failed'; readonly error: EngineError; readonly upstream?: UpstreamRun }

/** The result of checking a provider with requests that cost nothing. */
export interface ProviderCheck {
  /** Whether it answers as servers of its kind do; null if every request would cost something. */
  readonly answers: boolean | null
  /** `unknown`: no free request shows it. `none`: the catalog names no key. */
  readonly key: 'works' | 'refused' | 'missing' | 'unknown' | 'none'
  /** What is wrong; null if nothing is, as far as it can be known. */
  readonly reason: string | null
}

/** Makes media for the models of one engine kind. */
export interface Engine {
  readonly kind: string
  /** JSON Schema 2020-12 of the engine's own settings: `properties`, `required` and conditions, without `kind`. */
  readonly schema: JsonObject
  /**
   * The version of the engine, if by it equal inputs, seeds included, give equal files. Default: they may not, and a model that takes a
   * seed is always given one.
   */
  readonly reproducibleAs?: string
  /**
   * JSON Schema of an entry of `providers:` in a catalog file, without its `kind`. Settings of such an engine name an entry as
   * `provider`; the engine gets the entry, with its `name`, instead of the name, also in `fallback`.
   */
  readonly provider?: JsonObject
  /** An error in settings that match the schema, such as an unreadable file. Called when the catalog is loaded. */
  findFault?(spec: EngineSpec): { readonly field: string; readonly words: string } | null
  /** Checks whether a provider answers and accepts its key. It costs nothing, and ends within the timeout. */
  checkProvider?(provider: JsonObject, timeoutMs: number): Promise<ProviderCheck>
  /** Names of the environment variables whose values the model needs. Default: none. */
  secretsOf?(spec: EngineSpec): readonly string[]
  /**
   * Whether a run only waits for another server, and costs this machine almost nothing. Then only the concurrency of its
   * model bounds it, and it takes no slot of the worker.
   */
  waits(spec: EngineSpec): boolean
  /** Null if the model can run now, else why it cannot. Called in the background; the last answer counts meanwhile. */
  unready(spec: EngineSpec): Promise<string | null>
  /**
   * What may happen after the loss of a run that had begun and left this checkpoint; null if it left none. The checkpoint may
   * already contain the end of the submission, since a run can be lost before it reports the end. The result is stored with the
   * checkpoint, so it must not depend on anything else. A run whose engine had not begun always starts again.
   */
  afterLoss(spec: EngineSpec, checkpoint: JsonValue): AfterLoss
  /**
   * Whether another server may have accepted, for money, what this checkpoint was saved before. A run that reaches its time limit there
   * goes to review instead of failing. Default: if the run has reported a submission and `afterLoss` is `never`.
   */
  mayBePaid?(spec: EngineSpec, checkpoint: JsonValue): boolean
  /**
   * Runs one job to its end.
   * @throws EngineError when the run failed; OutcomeUnknown when it is unknown whether another server accepted it; anything
   *   else that is thrown counts as an engine that crashed.
   */
  run(spec: EngineSpec, run: EngineRun): Promise<EngineResult>
  /** Finds out about a run whose outcome is unknown; called repeatedly until it knows or the review is over. */
  reconcile?(spec: EngineSpec, past: PastRun): Promise<Reconciled>
  /**
   * Cancels the submission that the checkpoint names on the other server. Resolves once that server has answered, whatever the
   * answer is, with the record if it changed; throws to be called again later.
   */
  cancel?(spec: EngineSpec, past: PastRun): Promise<UpstreamRun | null>
  /** Prepares for the first run, so that it need not wait for a process to start. Called when a worker has started. */
  warm?(): void
  /** Releases everything that the engine holds (child processes, sockets). */
  close(): Promise<void>
}

/** A failed run; the owner of the job may read the message. */
export class EngineError extends Error {
  /** Stable name of the failure, shown as `error.code` of the job. */
  readonly code: string
  /** Whether the same input may succeed on another try. */
  readonly retryable: boolean

  constructor(code: string, message: string, retryable = false, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EngineError'
    this.code = code
    this.retryable = retryable
  }
}

/** It is unknown whether another server accepted the run: the job goes to review with its credits held. */
export class OutcomeUnknown extends Error {
  /** @param message for the operator */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutcomeUnknown'
  }
}

/** Another server was paid for the run, and nothing that it made can be had: the job goes to review with its credits held. */
export class Undelivered extends Error {
  /** @param message for the owner of the job */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Undelivered'
  }
}

/** The run has lost its job: its lease ran out, or the job has ended. */
export class ClaimLost extends Error {
  constructor() {
    super('The job is no longer this run’s.')
    this.name = 'ClaimLost'
  }
}
