// The port to whatever makes media. An engine gets a validated input, a folder, callbacks and a signal, and leaves files.
// It knows nothing of credits, accounts or HTTP.

/** A JSON object, as it came from a client. */
export type JsonObject = { [key: string]: JsonValue }
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject

/** What an engine measured while it ran; usage-billed prices are computed from it (for example `{ seconds: 3.2 }`). */
export type Usage = { readonly [name: string]: number }

/**
 * What may be done with a job whose run was lost or given back: start again from the beginning (`again`), let another run
 * take over from the checkpoint (`continue`: something was submitted elsewhere and is only waited for), or neither, because
 * nobody knows whether the run cost money (`never`: the job goes to review).
 */
export type AfterLoss = 'again' | 'continue' | 'never'

/**
 * How a submission to another server stands: it is being sent; it was accepted; it was certainly refused; nobody knows whether
 * it was accepted; or it ended. Those that may still run there are `submitting`, `accepted` and `unknown`.
 */
export type UpstreamVerdict = 'submitting' | 'accepted' | 'refused' | 'unknown' | 'succeeded' | 'failed' | 'canceled'

/** A submission to another server, for the record of its operator; it outlives the job. */
export interface UpstreamRun {
  /** Counts the submissions of the job from 1. A later report of the same number updates the record. */
  readonly n: number
  /** The catalog's name of the other server. */
  readonly provider: string
  /** Its name of the run; null while unknown. A later null keeps the earlier name. */
  readonly upstreamId: string | null
  readonly verdict: UpstreamVerdict
  /** What the other server says that it bills; null if it says nothing. A later null keeps the earlier cost. */
  readonly cost: UpstreamCost | null
}

/** A bill of another server: in its words, and as a number if it is one. */
export interface UpstreamCost {
  readonly text: string
  readonly amount: number | null
  /** For example `USD`. */
  readonly currency: string | null
}

/** Where a download may go and what it may say. */
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
  /** What an earlier run of the job saved last, or null. */
  readonly checkpoint: JsonValue
  /** An empty folder for this run alone, removed afterwards. Only a path if the engine needs none. */
  readonly folder: string
  /** Aborts on cancel, on timeout and when the server stops. The run must end soon after; its outcome is ignored. */
  readonly signal: AbortSignal
  /**
   * The media that the input refers to (`format: media`): absolute paths of local files by JSON pointer, such as `/image` or
   * `/images/0`. Each was recognised by its content as an image, a video or a sound; nothing else was checked. They were fetched
   * before the run began; one that continues an earlier run fetches them when it first asks.
   * @throws EngineError when they cannot be fetched
   */
  media(): Promise<ReadonlyMap<string, string>>
  /** Reports how far the run is, 0 … 1. */
  readonly onProgress: (fraction: number) => void
  /**
   * Saves a checkpoint for a later run of the same job, and the record of a submission with it. Durable when it resolves. It
   * waits as long as the store cannot write.
   * @throws ClaimLost when the job is no longer this run's: then nothing may be sent to another server
   */
  saveCheckpoint(checkpoint: JsonValue, upstream?: UpstreamRun): Promise<void>
  /**
   * Shows a draft picture to whoever watches the job: the name of a file in the folder, which is taken from there. It is never
   * billed, and gone when the job ends. A draft that comes before the one before is shown replaces it.
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
}

/** The engine settings of a catalog entry: a kind and the settings of that kind. */
export interface EngineSpec {
  readonly kind: string
  readonly [setting: string]: unknown
}

/** What an engine is told about a job of which no run is left. */
export interface PastRun {
  readonly jobId: string
  /** Model id. */
  readonly model: string
  /** What its last run saved. */
  readonly checkpoint: JsonValue
  /** Aborts when the answer takes too long or the server stops. */
  readonly signal: AbortSignal
}

/** What became of a submission whose outcome was unknown. */
export type Reconciled =
  | { readonly state: 'unknown' }
  /** The job is queued again with this checkpoint, and `afterLoss` says how it goes on. */
  | { readonly state: 'known'; readonly checkpoint: JsonValue; readonly upstream?: UpstreamRun }
  | { readonly state: 'failed'; readonly error: EngineError; readonly upstream?: UpstreamRun }

/** What a provider says when it is asked something that costs nothing. */
export interface ProviderCheck {
  /** Whether it answers as its kind does; null if nothing can be asked for nothing. */
  readonly answers: boolean | null
  /** `unknown`: no free question tells. `none`: the catalog names no key. */
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
   * JSON Schema of an entry of `providers:` in a catalog file, without its `kind`. Settings of such an engine name an entry as
   * `provider`; the engine gets the entry, with its `name`, in the place of the name, in `fallback` too.
   */
  readonly provider?: JsonObject
  /** What is wrong with settings that fit the schema, such as a file that cannot be read. Asked when the catalog is loaded. */
  findFault?(spec: EngineSpec): { readonly field: string; readonly words: string } | null
  /** Asks a provider whether it answers and takes its key. It costs nothing, and ends in time. */
  checkProvider?(provider: JsonObject, timeoutMs: number): Promise<ProviderCheck>
  /** Names of the environment variables whose values the model needs. Default: none. */
  secretsOf?(spec: EngineSpec): readonly string[]
  /**
   * Whether a run only waits for another server, and costs this machine almost nothing. Then only the concurrency of its
   * model bounds it, and it takes no place of the worker.
   */
  waits(spec: EngineSpec): boolean
  /** Null if the model can run now, else why it cannot. Asked in the background; the last answer counts meanwhile. */
  unready(spec: EngineSpec): Promise<string | null>
  /**
   * What may be done with a run of which this checkpoint is left (an end that another server told included: the run may be lost
   * before the job knows), once the engine had begun; null if none was saved. It is
   * saved with the checkpoint, so it must not depend on anything else. Before the engine begins, a run may start again.
   */
  afterLoss(spec: EngineSpec, checkpoint: JsonValue): AfterLoss
  /**
   * Runs one job to its end.
   * @throws EngineError when the run failed; OutcomeUnknown when nobody knows whether another server accepted it; anything
   *   else that is thrown counts as an engine that crashed.
   */
  run(spec: EngineSpec, run: EngineRun): Promise<EngineResult>
  /** Finds out about a run whose outcome is unknown; asked again and again until it knows or the review is over. */
  reconcile?(spec: EngineSpec, past: PastRun): Promise<Reconciled>
  /**
   * Ends on the other server what the checkpoint names; resolves, with the record if it changed, once that server has
   * answered, whatever it answered; throws to be asked again later.
   */
  cancel?(spec: EngineSpec, past: PastRun): Promise<UpstreamRun | null>
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

/** A run of which nobody knows whether another server accepted it: the job goes to review with its credits held. */
export class OutcomeUnknown extends Error {
  /** @param message for the operator */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutcomeUnknown'
  }
}

/** The job is no longer this run's: its lease ran out, or it has ended. */
export class ClaimLost extends Error {
  constructor() {
    super('The job is no longer this run’s.')
    this.name = 'ClaimLost'
  }
}
