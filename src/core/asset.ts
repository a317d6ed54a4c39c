// Output files: what is known about one, the port to where they live, and the port that signs their URLs.

/** One stored output file, as the job's record keeps it. */
export interface Asset {
  /** Where it lives below the asset store's root, for example `job_01jd…/0.png`; also the path of its URL below `/assets/`. */
  readonly key: string
  /** Media type found by content, never by name. */
  readonly contentType: string
  readonly bytes: number
  /** Pixels; null for what has no picture. */
  readonly width: number | null
  readonly height: number | null
  /** Seconds; null for what does not last. */
  readonly durationSeconds: number | null
  /** Lower-case hexadecimal SHA-256 of the file. */
  readonly sha256: string
  /** Where a small picture of it lives (WebP, at most 512 pixels on its long side); null where there is none. */
  readonly previewKey: string | null
  /** The preview in about thirty characters, to be shown while it loads (blurha.sh); null where nothing is seen. */
  readonly blurhash: string | null
}

/** How a file is stored. */
export interface PutOptions {
  readonly signal?: AbortSignal
  /** Default: the run. */
  readonly owner?: string
}

/** A place where output files live. */
export interface AssetStore {
  /**
   * Checks the file at `path` and moves it into the store, durably: when this resolves, the asset survives a power cut.
   * @param run names the run of the job, for example the job's id; it is the folder of the asset's key
   * @param index position of the file among the outputs of the job, from 0
   * @param options `signal` ends looking into the file, and with it the promise; `owner` is whose it is: owners take turns
   *   at being looked at
   * @throws EngineError `output_invalid` when the file is empty, too large, of a kind that is not served, or cannot be decoded.
   */
  put(run: string, index: number, path: string, options?: PutOptions): Promise<Asset>
  /** Removes what `put` stored for a run whose success was not recorded. Quiet about what is not there. */
  remove(run: string): Promise<void>
  /** Gets ready to look into outputs, so that the first one need not wait for it. */
  warm(): void
  /** Ends whatever looks into outputs; a `put` under way fails. */
  close(): Promise<void>
  /** Absolute folder below which every key is a file. */
  readonly root: string
}

/** Makes and checks the URLs under which files are served. */
export interface AssetUrls {
  /** The URL of an asset and the last moment at which it works, in milliseconds since 1970. */
  sign(key: string): { url: string; expiresAtMs: number }
  /** The key of an asset and whether its signature holds, from a URL that `sign` may have made; null for what is no such URL. */
  read(url: string): { key: string; valid: boolean } | null
  /** As `sign`, but never beyond `lastMs`; null when that is over. */
  signWithin(key: string, lastMs: number): { url: string; expiresAtMs: number } | null
  /** The URL of a file that works until `untilMs`, in milliseconds since 1970, cut to whole seconds. */
  signUntil(key: string, untilMs: number): string
  /**
   * How many milliseconds a URL still works, by the query of a request for `key`; null when its signature is not genuine or
   * has expired.
   */
  msLeft(key: string, query: { expires?: string; signature?: string }): number | null
}
