// Output files: the record of one, the port to their storage, and the port that signs their URLs.
import { sumDecimals } from '../fraction.ts'
import type { Claim, Provenance } from './provenance.ts'

/** A stored output file, as in the job's record. */
export interface Asset {
  /** Its key among the blobs, for example `job_01jd…/0.png`; also the path of its URL below `/assets/`. */
  readonly key: string
  /** Media type, detected from the content, never from the name. */
  readonly contentType: string
  readonly bytes: number
  /** Pixels; null for a sound. */
  readonly width: number | null
  readonly height: number | null
  /** Seconds; null for a picture. */
  readonly durationSeconds: number | null
  /** Lower-case hexadecimal SHA-256 of the file. */
  readonly sha256: string
  /** Key of a small picture of it (WebP, at most 512 pixels on its long side); null if there is none. */
  readonly previewKey: string | null
  /** The preview in about thirty characters, to show while it loads (blurha.sh); null for a sound. */
  readonly blurhash: string | null
  /** Where it says it comes from. Records of before this was read lack it. */
  readonly provenance?: Provenance
}

/**
 * Measures the outputs of a job: the number of pictures, and the seconds and megapixels of all files. A quantity that no
 * file has is missing from the result.
 */
export function measureOutputs(outputs: readonly Asset[]): Record<string, number> {
  const measured = {
    images: outputs.filter(({ durationSeconds }) => durationSeconds === null).length,
    seconds: sumDecimals(outputs.map(({ durationSeconds }) => durationSeconds ?? 0)),
    megapixels: sumDecimals(outputs.map(({ width, height }) => ((width ?? 0) * (height ?? 0)) / 1e6)),
  }
  return Object.fromEntries(Object.entries(measured).filter(([, value]) => value > 0))
}

/** How a file is stored. */
export interface PutOptions {
  readonly signal?: AbortSignal
  /** Default: the run. */
  readonly owner?: string
  /**
   * How long it is tried while the store is in trouble or refuses this service, in milliseconds. Default: as long as the store
   * usually does, and a refusal is not repeated.
   */
  readonly patienceMs?: number | undefined
  /** Whether a file that is refused is kept for the operator; the error says where. */
  readonly keepsRefused?: boolean
  /** What a signature or a mark of this service says of it, if the settings want one. */
  readonly claim?: Claim
  /** Receives why a file could not be signed that should have been. It is stored all the same. */
  readonly onUnsigned?: (why: string) => void
  /** Receives the reason each time storing is tried again. */
  readonly onTrouble?: (error: unknown) => void
}

/** Storage of output files. */
export interface AssetStore {
  /**
   * Checks the local file at `path` and moves it into the store, durably: when this resolves, the asset survives a power cut.
   * @param run names the run of the job, for example the job's id; the asset's key begins with it
   * @param index position of the file among the outputs of the job, from 0
   * @param options `signal` aborts the check of the file, and with it the promise; `owner` is the owner of the file: checks
   *   for different owners take turns
   * @throws EngineError `output_invalid` when the file is empty, too large, of a type that is not served, or cannot be decoded.
   */
  put(run: string, index: number, path: string, options?: PutOptions): Promise<Asset>
  /** Removes what `put` stored for a run whose success was not recorded. Ignores missing files. */
  remove(run: string): Promise<void>
  /** Prepares the check of outputs, so the first one does not wait for it. */
  warm(): void
  /** Stops checking outputs; a running `put` fails. */
  close(): Promise<void>
}

/** Makes and checks the URLs under which files are served. */
export interface AssetUrls {
  /** The URL of an asset and the last moment at which it works, in milliseconds since 1970. */
  sign(key: string): { url: string; expiresAtMs: number }
  /** The key of an asset and whether its signature is valid, from a URL; null if `sign` cannot have made the URL. */
  read(url: string): { key: string; valid: boolean } | null
  /** The same below another address; unset where the settings name the address of this server. */
  readonly below?: (baseUrl: string) => AssetUrls
  /** Like `sign`, but never valid beyond `lastMs`; null if that has passed. */
  signWithin(key: string, lastMs: number): { url: string; expiresAtMs: number } | null
  /** The URL of a file that works until `untilMs`, in milliseconds since 1970, cut to whole seconds. */
  signUntil(key: string, untilMs: number): string
  /**
   * How many milliseconds a URL still works, by the query of a request for `key`; null when its signature is not genuine or
   * has expired.
   */
  msLeft(key: string, query: { expires?: string; signature?: string }): number | null
}
