// The port to whatever makes media. An engine gets a validated input, a folder, callbacks and a signal, and leaves files.
// It knows nothing of credits, accounts or HTTP.

/** A JSON object, as it came from a client. */
export type JsonObject = { [key: string]: JsonValue }
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject

/** What an engine measured while it ran; usage-billed prices are computed from it (for example `{ seconds: 3.2 }`). */
export type Usage = { readonly [name: string]: number }

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
  /**
   * The media that the input refers to (`format: media`): absolute paths of local files by JSON pointer, such as `/image` or
   * `/images/0`. Each was recognised by its content as an image, a video or a sound; nothing else was checked.
   */
  readonly media: ReadonlyMap<string, string>
  /** The checkpoint of an earlier attempt, or null. */
  readonly checkpoint: JsonValue
  /** An empty folder for this run alone, removed afterwards. Only a path if the engine needs none. */
  readonly folder: string
  /** Aborts on cancel, on timeout and when the server stops. The run must end soon after; its outcome is ignored. */
  readonly signal: AbortSignal
  /** Reports how far the run is, 0 … 1. */
  readonly onProgress: (fraction: number) => void
  /** Stores a checkpoint for a later attempt of the same job. */
  readonly onCheckpoint: (checkpoint: JsonValue) => void
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

/** Makes media for the models of one engine kind. */
export interface Engine {
  readonly kind: string
  /**
   * Whether a run costs this machine almost nothing, for example because it waits for another server. Then only the
   * concurrency of its model bounds it, and it takes no place of the worker. Default false.
   */
  readonly light?: boolean
  /** Null if the model can run now, else why it cannot. */
  unready(spec: EngineSpec): string | null
  /**
   * Runs one job to its end.
   * @throws EngineError when the run failed; anything else that is thrown counts as an engine that crashed.
   */
  run(spec: EngineSpec, run: EngineRun): Promise<EngineResult>
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
