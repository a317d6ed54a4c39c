// The port to whatever makes media. An engine is given a validated input, a folder, a way to report and a signal;
// it leaves files behind. It knows nothing of credits, accounts or HTTP.

/** A JSON object, as it came from a client. */
export type JsonObject = { [key: string]: JsonValue }
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject

/** What an engine measured while it ran; usage-billed prices are computed from it (for example `{ seconds: 3.2 }`). */
export type Usage = { readonly [name: string]: number }

/** What one run of an engine is about. */
export interface EngineRun {
  readonly jobId: string
  /** Model id. */
  readonly model: string
  /** Whose run it is: a name that says nothing else. What is scarce is shared among owners. */
  readonly owner: string
  /** 1 for the first run of the job. */
  readonly attempt: number
  /** The input, valid by the model's schema, with the schema's defaults applied. */
  readonly input: JsonObject
  /**
   * The media that the input refers to (`format: media`): absolute paths of local files by JSON pointer, such as `/image` or
   * `/images/0`. Each was recognised by its content as an image, a video or a sound; nothing else of it was checked.
   */
  readonly media: ReadonlyMap<string, string>
  /** What an earlier attempt left by `onCheckpoint`, or null. */
  readonly checkpoint: JsonValue
  /** An empty folder that belongs to this run alone; it is removed afterwards. Only its path when the engine needs none. */
  readonly folder: string
  /** Aborts on cancel, on timeout and when the server stops. The run must end soon after; its outcome is ignored. */
  readonly signal: AbortSignal
  /** Reports how far the run is, 0 … 1. */
  readonly onProgress: (fraction: number) => void
  /** Keeps a value that a later attempt of the same job will be given. */
  readonly onCheckpoint: (checkpoint: JsonValue) => void
}

/** What a run that succeeded left behind. */
export interface EngineResult {
  /** Names of the output files in the run's folder, in the order in which they are to be shown; none only of an engine that makes nothing. */
  readonly files: readonly string[]
  readonly usage: Usage
}

/** The settings of an engine in a catalog entry: its kind and whatever that kind needs. */
export interface EngineSpec {
  readonly kind: string
  readonly [setting: string]: unknown
}

/** Makes media for the models of one engine kind. */
export interface Engine {
  readonly kind: string
  /**
   * Whether a run costs this machine next to nothing, as when it waits for a server elsewhere: it is bounded by the
   * concurrency of its model then, and takes no place of the worker. Default false.
   */
  readonly light?: boolean
  /** Whether runs of this spec leave files; where they do not, no folder is made. Default: they do. */
  needsFolder?(spec: EngineSpec): boolean
  /** Null when the model can run here and now, else why it cannot, in words. */
  unready(spec: EngineSpec): string | null
  /**
   * Runs one job to its end.
   * @throws EngineError when the run failed; anything else that is thrown counts as an engine that crashed.
   */
  run(spec: EngineSpec, run: EngineRun): Promise<EngineResult>
  /** Ends everything that the engine holds (child processes, sockets). */
  close(): Promise<void>
}

/** A run that failed, in words that the owner of the job may read. */
export class EngineError extends Error {
  /** Stable name of the failure, shown as `error.code` of the job. */
  readonly code: string
  /** Whether the same input may succeed when it is tried again. */
  readonly retryable: boolean

  constructor(code: string, message: string, retryable = false, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EngineError'
    this.code = code
    this.retryable = retryable
  }
}
